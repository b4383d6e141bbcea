import FanfareJSON
import StreamWire
import Testing

@testable import FanfareClient
@testable import fanfare

@Suite struct TopScreenTests {
    private static let sizes = [(80, 24), (160, 50), (40, 10), (200, 60), (20, 4), (1, 1)]

    /// Projects with ids of 63 characters, jobs with ids of 128, and numbers of ten digits.
    private func large(projects: Int = 200, jobs: Int = 3) throws -> FleetSnapshot {
        let wide = "上海 \u{1B}[2J\u{202E}🚀 " + String(repeating: "reason ", count: 30)
        return FleetSnapshot(
            projects: try (0..<projects).map { index in
                let id = String("\(index)-" + String(repeating: "p", count: 63)).prefix(63)
                var sample = SampleProject(id: String(id), waiting: 1_000_000_000 + Int64(index))
                if index % 3 == 0 { sample.pauseReason = wide }
                sample.jobs = (0..<jobs).map { job in
                    let name = String("\(index)-\(job)-" + String(repeating: "j", count: 128)).prefix(128)
                    return (String(name), "active", 1_000_000_000, 999_999_999 - Int64(job))
                }
                sample.worker = "wörker-上海-\u{1B}[2J-\(index).a.1"
                return try sample.snapshot()
            }
        )
    }

    /// Every group of digits of the screen that is not part of an id.
    private func numbers(_ text: String) -> [Substring] {
        text.split(separator: " ").filter { word in word.allSatisfy(\.isNumber) }
    }

    @Test(arguments: sizes, [1, 5, 200])
    func screenFillsItsWindowExactly(size: (Int, Int), projects: Int) throws {
        var screen = TopScreen(snapshot: try large(projects: projects), meter: FleetMeter())
        for text in [
            nil, "Redis does not answer since 12:30:05 (8 s); trying again. " + String(repeating: "x", count: 300),
        ] {
            screen.readError = text
            let lines = screen.lines(width: size.0, height: size.1)
            #expect(lines.count == size.1)
            for line in lines { #expect(TextWidth.of(line.text) <= size.0, "\(line.text)") }
        }
    }

    @Test(arguments: sizes)
    func screenNeverCutsANumber(size: (Int, Int)) throws {
        let snapshot = try large()
        let screen = TopScreen(snapshot: snapshot, meter: FleetMeter())
        let whole = Set(screen.lines(width: nil, height: nil).flatMap { numbers($0.text) })
        for line in screen.lines(width: size.0, height: size.1) {
            // The numbers of rows that are not shown are the screen's own.
            for number in numbers(line.text) where !line.text.contains("…") || line.text.contains("100000") {
                #expect(whole.contains(number) || number.count <= 3, "\(number) in \(line.text)")
            }
        }
    }

    @Test func narrowScreenKeepsNameStateAndWaiting() throws {
        let screen = TopScreen(snapshot: try large(projects: 5), meter: FleetMeter())
        let lines = screen.lines(width: 80, height: 24).map(\.text)
        let titles = try #require(lines.first { $0.hasPrefix("PROJECT") })
        #expect(titles.contains("STATE") && titles.contains("WAITING") && titles.contains("REASON"))
        #expect(!titles.contains("UNREAD"))
        #expect(
            lines.contains {
                $0.hasPrefix("0-pp") && $0.contains("…") && $0.contains("paused") && $0.contains("1000000000")
            }
        )
        #expect(
            lines.contains { $0.hasPrefix("JOB") && $0.contains("DONE") && $0.contains("TOTAL") && $0.contains("LEFT") }
        )
        #expect(lines.contains { $0.hasPrefix("WORKER") })
        let wide = screen.lines(width: 160, height: 50).map(\.text)
        let more = try #require(wide.first { $0.hasPrefix("PROJECT") })
        #expect(more.contains("DEAD") && more.contains("OLDEST") && more.contains("QUOTA/S"))
    }

    @Test func listsAreCutOnlyWhenEveryLineIsUsed() throws {
        let few = TopScreen(snapshot: try large(projects: 3, jobs: 2), meter: FleetMeter())
        #expect(!few.lines(width: 160, height: 30).contains { $0.text.contains(" more") })
        let many = TopScreen(snapshot: try large(projects: 200), meter: FleetMeter())
        let lines = many.lines(width: 160, height: 50).map(\.text)
        #expect(lines.contains { $0.hasSuffix(" more") })
        // An empty line stands before each table and nowhere else.
        #expect(lines.count { $0.isEmpty } == 3)
    }

    @Test(arguments: [([5, 200, 3], 20), ([200, 600, 200], 41), ([1, 1, 1], 9), ([4, 4], 0)])
    func sharesLeaveNoLineFreeWhileAListWantsMore(wanted: [Int], room: Int) {
        let shares = TopScreen.shares(wanted, room: room)
        #expect(shares.reduce(0, +) == min(room, wanted.reduce(0, +)))
        #expect(zip(shares, wanted).allSatisfy { $0 <= $1 })
    }

    @Test func textFromOutsideHasNoControlCharacter() throws {
        var screen = TopScreen(snapshot: try large(projects: 4), meter: FleetMeter())
        screen.readError = "away \u{1B}[2J"
        screen.state = TopState()
        screen.state.notice = "job \u{1B}[2J"
        screen.state.opened = screen.snapshot.projects[0].id
        for opened in [true, false] {
            if !opened { screen.state.opened = nil }
            for (width, height) in [(80, 24), (300, 90)] {
                for line in screen.lines(width: width, height: height) {
                    #expect(!line.text.unicodeScalars.contains(where: PrintableText.isUnsafe), "\(line.text)")
                }
            }
        }
    }

    @Test func selectedRowIsAlwaysShown() throws {
        var screen = TopScreen(snapshot: try large(), meter: FleetMeter())
        screen.state = TopState(sort: .name)
        for row in [screen.rows[0], screen.rows[150], screen.rows[199], screen.rows[450], screen.rows[799]] {
            screen.state.selected = row
            for (width, height) in [(80, 24), (160, 50)] {
                let lines = screen.lines(width: width, height: height)
                #expect(lines.count { $0.isSelected } == 1, "\(row) at \(width)x\(height)")
            }
        }
        screen.state.canAct = false
        #expect(!screen.lines(width: 80, height: 24).contains { $0.isSelected })
    }

    @Test func projectsThatNeedAttentionAreSortedFirst() throws {
        var idle = SampleProject(id: "a-idle", waiting: 0)
        idle.open = 0
        var paused = SampleProject(id: "z-paused", waiting: 5)
        paused.pauseReason = "lunch"
        let working = SampleProject(id: "b-working", waiting: 10)
        let snapshot = FleetSnapshot(projects: try [idle, paused, working].map { try $0.snapshot() })
        var screen = TopScreen(snapshot: snapshot, meter: FleetMeter())
        #expect(screen.sorted.map(\.id) == ["z-paused", "b-working", "a-idle"])
        screen.state.sort = .name
        #expect(screen.sorted.map(\.id) == ["a-idle", "b-working", "z-paused"])
        screen.state.sort = .waiting
        #expect(screen.sorted.map(\.id) == ["b-working", "z-paused", "a-idle"])
        let lines = screen.lines(width: 120, height: 24)
        #expect(lines.first { $0.text.hasPrefix("z-paused") }?.style == .warning)
        #expect(lines.first { $0.text.hasPrefix("z-paused") }?.text.hasSuffix("lunch") == true)
    }

    @Test func stoppedJobIsNamedAboveTheTablesAndItsReasonFits80Columns() throws {
        var bank = SampleProject(id: "bank", waiting: 28_880, open: 1)
        bank.stopped = [("statement-11", "stop_if: unregistered 34.1% of 1000, more than 20%")]
        let projects = try [SampleProject(id: "a", waiting: 1), bank].map { try $0.snapshot() }
        let screen = TopScreen(snapshot: FleetSnapshot(projects: projects), meter: FleetMeter())
        #expect(screen.sorted.map(\.id) == ["bank", "a"])
        let lines = screen.lines(width: 80, height: 24)
        #expect(lines[1].text == "bank: statement-11 stopped itself: 34.1 % UNREGISTERED, 28,880 wait")
        #expect(lines[1].style == .warning)
        let row = try #require(lines.first { $0.text.hasPrefix("bank  ") })
        #expect(row.text.contains("waiting") && row.text.contains("1 job stopped itself") && row.style == .warning)
        let job = try #require(lines.first { $0.text.hasPrefix("statement-11") })
        #expect(job.text.contains("34.1 % UNREGISTERED"))
    }

    @Test func manyStoppedJobsTakeThreeLines() throws {
        var bank = SampleProject(id: "bank", waiting: 1, open: 3)
        bank.stopped = (1...3).map { ("job-\($0)", "stop_if: failed 9% of 1000, more than 5%") }
        var shop = bank
        shop.id = "shop"
        let fleet = FleetSnapshot(projects: try [bank, shop].map { try $0.snapshot() })
        let lines = TopScreen(snapshot: fleet, meter: FleetMeter()).lines(width: 80, height: 24).map(\.text)
        #expect(lines[1].hasPrefix("bank: job-1 ") && lines[2].hasPrefix("bank: job-2 "))
        #expect(lines[3] == "… 4 more; `fanfare project ls` names them")
    }

    @Test func stoppedCampaignStandsBeforeRejectedJobs() throws {
        var mail = try SampleProject(id: "a", waiting: 1).snapshot()
        mail.dead = 9
        var bank = SampleProject(id: "bank", waiting: 1, open: 1)
        bank.stopped = [("statement-11", "stop_if: failed 9% of 1000, more than 5%")]
        let fleet = FleetSnapshot(projects: [mail, try bank.snapshot()])
        let lines = TopScreen(snapshot: fleet, meter: FleetMeter()).lines(width: 80, height: 24).map(\.text)
        #expect(lines[1].hasPrefix("bank: statement-11 ") && lines[2] == "a: 9 jobs are rejected", "\(lines)")
    }

    @Test func fleetWithoutALiveWorkerSaysSoInItsSecondLine() throws {
        let samples = (0..<40).map { SampleProject(id: "p\($0)", waiting: 0, open: 0, isServed: false) }
        let fleet = FleetSnapshot(projects: try samples.map { try $0.snapshot() })
        let line = TopScreen(snapshot: fleet, meter: FleetMeter()).lines(width: 80, height: 24)[1]
        #expect(line.text == "No worker is alive: nothing is sent. Start `fanfare worker`." && line.style == .alarm)
    }

    @Test func idleProjectsShareARowUnlessTheyAreWanted() throws {
        func idle(_ count: Int) throws -> TopScreen {
            var samples = (1...count).map { SampleProject(id: "idle-\($0)", waiting: 0, open: 0) }
            samples.append(SampleProject(id: "busy", waiting: 9))
            let projects = try samples.map { try $0.snapshot() }
            var screen = TopScreen(snapshot: FleetSnapshot(projects: projects), meter: FleetMeter())
            screen.state = TopState()
            return screen
        }
        var screen = try idle(36)
        for (width, height) in [(80, 24), (160, 50), (nil, nil)] as [(Int?, Int?)] {
            let lines = screen.lines(width: width, height: height).map(\.text)
            #expect(lines.contains { $0.hasPrefix("36 projects  idle") } && !lines.contains { $0.hasPrefix("idle-") })
        }
        #expect(screen.rows.first == .project("busy") && screen.rows.allSatisfy { $0.project == "busy" })
        screen.state.showsIdle = true
        #expect(screen.lines(width: nil, height: nil).count { $0.text.hasPrefix("idle-") } == 36)
        #expect(try idle(3).lines(width: 80, height: 24).count { $0.text.hasPrefix("idle-") } == 3)
    }

    @Test func helpFitsATerminalOf80Columns() throws {
        var screen = TopScreen(snapshot: try large(projects: 1), meter: FleetMeter())
        screen.state = TopState(mode: .help)
        let lines = screen.lines(width: 80, height: 24).map(\.text)
        #expect(lines.contains { $0.hasPrefix("i ") } && !lines.contains { $0.contains("…") }, "\(lines)")
    }

    @Test func openedProjectShowsItsJobsFailuresAndWorkers() throws {
        var screen = TopScreen(snapshot: try large(projects: 3), meter: FleetMeter())
        let project = screen.snapshot.projects[1]
        screen.state = TopState(opened: project.id)
        screen.failures = [TopScreen.Failure(error: "UNREGISTERED", count: 1_234_567)]
        let lines = screen.lines(width: 80, height: 24).map(\.text)
        #expect(lines[1].hasPrefix(project.id))
        #expect(lines.contains { $0.contains("1000000001 waiting") })
        #expect(lines.contains { $0.hasPrefix("UNREGISTERED") && $0.hasSuffix("1234567") })
        #expect(lines.contains { $0.hasPrefix("JOB") && !$0.contains("PROJECT") })
        #expect(lines.contains { $0.hasPrefix("WORKER") } && !lines.contains { $0.hasPrefix("0-0-") })
        // A project that is gone is not opened.
        screen.state.opened = "gone"
        #expect(screen.lines(width: 80, height: 24).contains { $0.text.hasPrefix("PROJECT") })
    }

    @Test func questionAndPromptFitTheirLine() throws {
        var screen = TopScreen(snapshot: try large(projects: 1), meter: FleetMeter())
        let row = TopState.Row.job(String(repeating: "j", count: 128), project: "p")
        screen.state = TopState(mode: .confirm(.init(verb: .pause, row: row)))
        let question = try #require(screen.lines(width: 80, height: 24).last?.text)
        #expect(question.hasPrefix("Pause job jjj") && question.hasSuffix("?  y yes  n no") && question.count == 80)
        let typed = String(repeating: "long ", count: 40) + "end"
        screen.state.mode = .reason(.init(verb: .resume, row: row, reason: typed))
        let prompt = try #require(screen.lines(width: 80, height: 24).last?.text)
        #expect(prompt.hasPrefix("Reason (optional): ") && prompt.hasSuffix("end_  Enter resume  Esc cancel"))
        #expect(prompt.count <= 80)
        screen.state.mode = .help
        #expect(screen.lines(width: 80, height: 24).contains { $0.text.hasPrefix("p ") && $0.text.contains("pause") })
    }
}

/// A project as `fleet` answers it.
struct SampleProject {
    var id: String
    var waiting: Int64
    var open: Int64 = 3
    var pauseReason: String?
    var worker = "w.a.1"
    /// Whether the worker lives.
    var isServed = true
    /// id and reason of each.
    var stopped: [(String, String)] = []
    /// id, state, total and sent of each.
    var jobs: [(String, String, Int64, Int64)] = []

    func snapshot() throws -> ProjectSnapshot {
        func bulk(_ words: [String]) -> [RedisValue] { words.map { .bulk(Array($0.utf8)) } }
        var words = bulk(["now_ms", "1700000000000", "left", "\(waiting)", "open", "\(open)", "quota", "600000"])
        if let pauseReason { words += bulk(["paused", "1", "pause_reason", pauseReason]) }
        let about = #"{"version":"1.2.3","host":"h","pid":7,"started_ms":1,"lease_ms":10000,"in_flight":5}"#
        let lease = bulk(["name", worker, "silent_ms", isServed ? "2000" : "20000", "about", about, "batches", "2"])
        words += bulk(["workers", "1", "alive", isServed ? "1" : "0", "leases"]) + [.array([.array(lease)])]
        let list = jobs.map { id, state, total, sent -> RedisValue in
            let fields = bulk(["state", state, "total", "\(total)", "sent", "\(sent)", "created_ms", "1"])
            return .array(bulk(["id", id, "job"]) + [.array(fields)] + bulk(["class", "fanout", "priority", "5"]))
        }
        words += bulk(["queued"]) + [.array(list)]
        let stops = stopped.map { id, reason -> RedisValue in
            let fields = bulk(["state", "paused", "reason", reason, "total", "30000", "sent", "740", "failed", "380"])
            return .array(bulk(["id", id, "job"]) + [.array(fields)] + bulk(["stopped_ms", "1", "continues_ms", ""]))
        }
        words += bulk(["stopped"]) + [.array(stops)] + bulk(["stopped_by_stop_if", "\(stopped.count)"])
        return try #require(ProjectSnapshot(id: id, reply: .array(words)))
    }
}
