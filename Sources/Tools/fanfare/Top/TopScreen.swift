internal import FanfareClient
internal import StreamWire

/// A snapshot of the fleet as lines of text.
struct TopScreen {
    struct Line: Equatable {
        /// The escape sequence of each style.
        enum Style: String {
            case plain = ""
            case heading = "\u{1B}[1m"
            case warning = "\u{1B}[33m"
        }

        var text: String
        var style = Style.plain
    }

    let snapshot: FleetSnapshot
    let meter: FleetMeter
    var trouble: String?

    /// - Parameters:
    ///   - width: cuts longer lines.
    ///   - height: shortens the lists to fit, each with the number of omitted rows; nil shows everything.
    func lines(width: Int, height: Int?) -> [Line] {
        let head = [Line(text: title, style: .heading)] + (trouble.map { [Line(text: $0, style: .warning)] } ?? [])
        // Without a height there is no terminal, and no key to press.
        let foot = [Line(text: (height == nil ? "" : "q quits. ") + Self.footer)]
        var sections = [projects, jobs, workers].filter { $0.count > 1 }
        if let height {
            // An empty line before each section.
            var room = max(0, height - head.count - foot.count - sections.count)
            for (index, section) in sections.enumerated() {
                let share = max(2, room / (sections.count - index))
                sections[index] = Self.shortened(section, to: share)
                room -= sections[index].count
            }
        }
        var all = head
        for section in sections { all += [Line(text: "")] + section }
        if let height { all = Array(all.prefix(max(1, height - 1))) }
        return (all + foot).map { Line(text: String($0.text.prefix(max(1, width))), style: $0.style) }
    }

    private static let footer = "Sent means accepted by FCM, not delivered and not shown."

    private static func shortened(_ section: [Line], to count: Int) -> [Line] {
        guard section.count > count else { return section }
        let kept = section.prefix(max(1, count - 1))
        return kept + [Line(text: "  … and \(section.count - kept.count) more")]
    }

    private var title: String {
        func sum(_ value: (FleetRates) -> Double) -> Double {
            snapshot.projects.reduce(0) { $0 + (meter.rates(of: $1.id).map(value) ?? 0) }
        }
        let waiting = snapshot.projects.reduce(Int64(0)) { $0 + $1.recipientsWaiting }
        let alive = snapshot.workersAlive
        return "fanfare  \(Self.time(snapshot.nowMs))  \(alive) \(alive == 1 ? "worker" : "workers") alive  "
            + "\(PaceText.rate(sum(\.sent))) sent  \(PaceText.rate(sum { $0.failed + $0.unknown })) not  \(waiting) waiting"
    }

    private static func time(_ milliseconds: Int64) -> String {
        guard milliseconds > 0 else { return "no project yet" }
        return String(JobRendering.timestamp(milliseconds).dropLast(5)).replacing("T", with: " ") + " UTC"
    }

    private var projects: [Line] {
        var table = TextTable(
            [
                "PROJECT", "STATE", "SENT/S", "FAILED/S", "RETRIES/S", "WAITING", "OLDEST", "EMPTY IN", "FLIGHT",
                "PERMITS", "QUEUED", "DEAD", "UNREAD",
            ],
            numeric: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        )
        for project in snapshot.projects {
            let rates = meter.rates(of: project.id)
            let condition = project.condition
            let waits = project.recipientsWaiting + project.overview.entries > 0
            func pace(_ value: Double?) -> String { value.map { String(PaceText.rate($0).dropLast(2)) } ?? "-" }
            table.add([
                project.id, condition.word + (condition.reason.map { ": \($0.prefix(40))" } ?? ""), pace(rates?.sent),
                pace(rates.map { $0.failed + $0.unknown }), pace(rates?.retries), "\(project.recipientsWaiting)",
                project.oldestWaitMs > 0 ? PaceText.duration(Double(project.oldestWaitMs) / 1_000) : "-",
                waits ? meter.drainSeconds(of: project).map(PaceText.duration) ?? "-" : "-", "\(project.inFlight)",
                project.overview.permitsPerSecond > 0 ? PaceText.rate(project.overview.permitsPerSecond) : "-",
                "\(project.overview.waitingFanouts)", "\(project.dead)", project.unreadResults.map { "\($0)" } ?? "-",
            ])
        }
        return Self.lines(table) { index in
            let word = snapshot.projects[index].condition.word
            return word != "idle" && word != "working"
        }
    }

    private var jobs: [Line] {
        var table = TextTable(
            ["JOB", "PROJECT", "STATE", "", "DONE", "TOTAL", "FAILED", "RATE", "LEFT"],
            numeric: [4, 5, 6, 7, 8]
        )
        var warnings: [Bool] = []
        for project in snapshot.projects {
            for job in project.holding + project.queued + project.parked + project.others {
                let status = job.status
                warnings.append([.parked, .paused].contains(status.state))
                table.add([
                    status.id, project.id, job.ending.map { "ending: \($0)" } ?? status.state.rawValue,
                    ProgressBar.bar(status, width: 16),
                    "\(status.finished)", "\(status.total)", "\(status.failed)",
                    meter.rate(of: status.id, in: project.id).map(PaceText.rate) ?? "-",
                    meter.remainingSeconds(of: job, in: project).map(PaceText.duration) ?? "-",
                ])
            }
        }
        return Self.lines(table) { warnings[$0] }
    }

    private var workers: [Line] {
        var table = TextTable(
            ["WORKER", "STATE", "VERSION", "HOST", "PID", "FLIGHT", "BATCHES", "UP"],
            numeric: [4, 5, 6, 7]
        )
        for worker in snapshot.workers {
            let upMs = worker.card.map { max(0, snapshot.nowMs - $0.startedMs) }
            table.add([
                worker.name, worker.isAlive ? "alive" : "silent", worker.card?.version ?? "-",
                worker.card?.host ?? "-", worker.card.map { "\($0.pid)" } ?? "-", "\(worker.inFlight)",
                "\(worker.batches)", upMs.map { PaceText.duration(Double($0) / 1_000) } ?? "-",
            ])
        }
        return Self.lines(table) { !snapshot.workers[$0].isAlive }
    }

    private static func lines(_ table: TextTable, isWarning: (Int) -> Bool) -> [Line] {
        table.lines.enumerated().map { index, text in
            Line(text: text, style: index == 0 ? .heading : isWarning(index - 1) ? .warning : .plain)
        }
    }
}
