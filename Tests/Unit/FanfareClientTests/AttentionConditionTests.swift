import FanfareJSON
import StreamWire
import Testing

@testable import FanfareClient

/// The state of a project whose jobs wait, and what needs an operator.
@Suite struct AttentionConditionTests {
    private func overview(
        open: Int64,
        _ change: (inout OverviewReply) -> Void = { _ in }
    ) -> OverviewReply {
        var overview = OverviewReply(nowMs: 1_000_000)
        (overview.open, overview.workers, overview.workersAlive) = (open, 1, 1)
        change(&overview)
        return overview
    }

    private func job(_ id: String, _ fields: [String: String]) throws -> JobStatus {
        let all = ["state": "paused"].merging(fields) { $1 }
        let flat = all.flatMap { [RedisValue.bulk(Array($0.utf8)), .bulk(Array($1.utf8))] }
        return try #require(JobStatus(id: id, reply: .array(flat)))
    }

    private func project(_ stopped: [StoppedJob], _ overview: OverviewReply) -> ProjectSnapshot {
        var project = ProjectSnapshot(id: "bank", overview: overview)
        project.stopped = stopped
        return project
    }

    private func statement() throws -> StoppedJob {
        let status = try job(
            "statement-11",
            [
                "total": "30000", "sent": "740", "failed": "380", "error.UNREGISTERED.remove": "380",
                "reason": "stop_if: unregistered 34.1% of 1000, more than 20%",
            ]
        )
        return StoppedJob(status: status, stoppedBy: .stopIf, stoppedMs: 900_000)
    }

    @Test func projectWhoseOpenJobsAllRestIsWaiting() {
        let waiting = overview(open: 4) {
            ($0.resting.stoppedByCondition, $0.resting.paused, $0.resting.scheduled) = (1, 2, 1)
        }
        #expect(waiting.condition == .init(word: "waiting", reason: "1 job stopped itself, 2 paused, 1 scheduled"))
        let paused = overview(open: 2) { $0.resting.paused = 2 }
        #expect(paused.condition == .init(word: "waiting", reason: "2 jobs paused"))
        let closed = overview(open: 1) { $0.resting.closed = 1 }
        #expect(closed.condition == .init(word: "waiting", reason: "1 job outside a send window"))
    }

    @Test func projectWithAnotherOpenJobIsWorkingAndSaysWhatIsPaused() {
        let working = overview(open: 4) { ($0.resting.atCanary, $0.resting.paused, $0.resting.scheduled) = (1, 1, 1) }
        #expect(working.condition == .init(word: "working", reason: "1 job at a canary, 1 paused"))
        let pushed = overview(open: 1) { ($0.resting.paused, $0.entries) = (1, 1) }
        #expect(pushed.condition == .init(word: "working", reason: "1 job paused"))
        let scheduled = overview(open: 2) { $0.resting.scheduled = 1 }
        #expect(scheduled.condition == .init(word: "working"))
    }

    @Test func restingProjectWithoutAWorkerIsUnserved() {
        let unserved = overview(open: 1) { ($0.resting.scheduled, $0.workersAlive) = (1, 0) }
        #expect(unserved.condition.word == "unserved")
    }

    @Test func stoppedJobNeedsAttentionWithItsFigure() throws {
        let overview = overview(open: 1) { $0.resting.stoppedByCondition = 1 }
        let condition = try #require(project([try statement()], overview).attentionConditions.first)
        #expect(condition.text == "statement-11 stopped itself: 34.1 % UNREGISTERED, 28,880 wait")
        #expect(condition.kind == "stopped" && condition.job == "statement-11" && condition.page == "FanfareJobStopped")
        #expect(condition.sinceMs == 900_000)
    }

    @Test func recipientsOfJobsThatNeedAnOperatorDoNotWait() throws {
        var project = project([try statement()], overview(open: 2) { $0.resting.stoppedByCondition = 1 })
        project.recipientsWaiting = 28_980
        #expect(project.recipientsAwaitingSend == 100)
        project.stopped[0].stoppedBy = .canary
        project.stopped[0].continuesMs = 5
        #expect(project.recipientsAwaitingSend == 28_980)
    }

    @Test func jobWithARefusedMessageNeedsAttention() throws {
        let reason = "message refused: 53 of 100 INVALID_ARGUMENT (message.android.ttl)"
        let status = try job("j", ["total": "200", "failed": "100", "reason": reason])
        let job = StoppedJob(status: status, stoppedBy: .message, stoppedMs: 1)
        #expect(job.text == "j stopped itself: \(reason), 100 wait")
    }

    @Test func canaryNeedsAttentionUnlessItContinuesByItself() throws {
        let status = try job(
            "j",
            ["total": "200000", "sent": "985", "failed": "15", "canary": "1000", "reason": "canary"]
        )
        var canary = StoppedJob(status: status, stoppedBy: .canary, stoppedMs: 1)
        let overview = overview(open: 1) { $0.resting.atCanary = 1 }
        let condition = try #require(project([canary], overview).attentionConditions.first)
        #expect(condition.kind == "canary")
        #expect(condition.text == "j has finished its canary: 15 of 1,000 failed, 1.5 %, 199,000 wait")
        canary.continuesMs = 0
        #expect(project([canary], overview).attentionConditions.isEmpty)
    }

    @Test func operatorsPauseNeedsNoAttention() {
        #expect(project([], overview(open: 1) { $0.resting.paused = 1 }).attentionConditions.isEmpty)
    }

    @Test func manyStoppedJobsAreCounted() throws {
        let jobs = [StoppedJob](repeating: try statement(), count: 3)
        let overview = overview(open: 9) { $0.resting.stoppedByCondition = 7 }
        #expect(project(jobs, overview).attentionConditions.last?.text == "4 more jobs are stopped")
    }

    @Test func parkedAndRejectedJobsNeedAttention() {
        var project = project([], overview(open: 0) { $0.parked = 1 })
        project.dead = 3
        #expect(project.attentionConditions.map(\.kind) == ["parked", "rejected"])
        #expect(project.attentionConditions.map(\.text) == ["1 job is parked", "2 jobs are rejected"])
    }

    @Test func parkedJobIsNamedWithItsReasonAndWhatWaits() throws {
        let status = try job(
            "digest",
            ["state": "parked", "total": "1500", "sent": "300", "reason": "audience changed"]
        )
        var project = project([], overview(open: 0) { $0.parked = 3 })
        project.parked = [FleetJob(status: status)]
        project.dead = 3
        let condition = try #require(project.attentionConditions.first)
        #expect(condition.text == "digest is parked: audience changed, 1,200 wait; 2 more are parked")
        #expect(project.attentionConditions.count == 1 && condition.count == 3)
    }

    @Test func rejectedJobIsNamedWithItsReasonAndItsEntry() throws {
        var project = project([], overview(open: 0) { $0.parked = 1 })
        project.dead = 2
        project.rejected = RejectedJob(entry: "9-0", job: "sale-7", reason: "message: missing", atMs: 5)
        let one = try #require(project.attentionConditions.last)
        #expect(one.text == "sale-7 is rejected: message: missing" && one.sinceMs == 5)
        #expect(one.job == "sale-7" && one.entry == "9-0" && one.count == 1)
        project.dead = 1_301
        let many = try #require(project.attentionConditions.last)
        #expect(many.text == "sale-7 is rejected: message: missing; and 1,299 more" && many.sinceMs == nil)
    }

    @Test func canariesBeyondTheListAreCountedApart() throws {
        let status = try job("j", ["total": "2000", "sent": "50", "canary": "50", "reason": "canary"])
        let canary = StoppedJob(status: status, stoppedBy: .canary, stoppedMs: 1)
        let overview = overview(open: 9) { $0.resting.atCanary = 9 }
        let last = try #require(project([StoppedJob](repeating: canary, count: 3), overview).attentionConditions.last)
        #expect(last.kind == "canary" && last.text == "6 more jobs have finished their canaries")
    }

    @Test(arguments: [
        ("unserved", "FanfareNoWorkers"), ("blocked", "FanfareProjectBlocked"), ("held", "FanfareQuotaRefused"),
        ("backpressure", "FanfarePressure"), ("unreachable", "FanfareProjectUnreachable"),
        ("one worker is unreachable", "FanfareProjectUnreachable"),
    ])
    func conditionOfAProjectHasItsReasonRemedyAndPage(state: String, page: String) throws {
        let overview = overview(open: 2) {
            switch state {
            case "unserved": $0.workersAlive = 0
            case "blocked": $0.blockReason = "PERMISSION_DENIED"
            case "held": $0.holdMs = 1_000
            case "backpressure": $0.pressure = "memory"
            default: ($0.unreachable, $0.isUnreachablePartly) = ("FCM cannot be reached", state != "unreachable")
            }
        }
        let condition = try #require(project([], overview).attentionConditions.first)
        #expect(state.hasSuffix(condition.kind) && condition.page == page && condition.remedy.hasSuffix("."))
        if state == "unserved" { #expect(condition.text == "2 jobs wait, and no worker serves the project") }
    }

    @Test func fleetWithoutALiveWorkerSaysSoWhateverItsProjects() {
        #expect(FleetSnapshot(projects: []).noWorker == "No worker is alive: nothing is sent.")
        let idle = ProjectSnapshot(id: "a", overview: OverviewReply(nowMs: 1))
        #expect(FleetSnapshot(projects: [idle]).noWorker == "No worker is alive: nothing is sent.")
        let busy = ProjectSnapshot(id: "b", overview: overview(open: 1_200))
        #expect(
            FleetSnapshot(projects: [idle, busy]).noWorker == "No worker is alive: nothing is sent. 1,200 jobs wait."
        )
        var served = busy
        served.leases = [WorkerLease(name: "w.a.1", batches: 0)]
        #expect(FleetSnapshot(projects: [idle, served]).noWorker == nil)
        var faulty = idle
        faulty.fault = "a key has the wrong type"
        #expect(FleetSnapshot(projects: [faulty]).noWorker == nil)
    }

    @Test(
        arguments: [
            (0, 0, "0 %"), (0, 10, "0 %"), (380, 1_120, "33.9 %"), (1, 100_000, "0.1 %"), (99_999, 100_000, "99.9 %"),
            (5, 5, "100 %"), (1, 2, "50 %"),
        ] as [(Int64, Int64, String)]
    )
    func shareIsNeverAllOrNoneUnlessItIs(part: Int64, all: Int64, text: String) {
        #expect(Share.text(part, of: all) == text)
    }

    @Test func errorsAreAShareOfTheResultsSoFar() throws {
        let status = try job(
            "j",
            ["total": "30000", "sent": "740", "failed": "380", "error.UNREGISTERED.remove": "380"]
        )
        let error = try #require(FleetJSON.errors(status).array?.first?.object)
        #expect(error["of"]?.number?.int64 == 1_120)
        #expect(error["share"]?.jsonText == "33.9")
    }

    @Test func errorsAtACanaryAreAShareOfTheCanary() throws {
        let status = try job(
            "j",
            ["total": "200000", "sent": "900", "failed": "15", "retrying": "85", "reason": "canary"]
        )
        #expect(status.judged == 1_000 && status.canaryTried == 1_000)
    }
}
