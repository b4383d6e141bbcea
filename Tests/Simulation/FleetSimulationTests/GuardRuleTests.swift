import FanfareModel
import StreamWire
import Testing

@testable import FleetSimulation

/// Rules of guarded jobs that few seeds reach.
@Suite struct GuardRuleTests {
    /// The news of the stop usually overtakes the next watermark.
    @Test(arguments: [nil, Mutation.raiseAfterStop]) func noWatermarkRisesAfterAStop(_ mutation: Mutation?) throws {
        var guards = GuardRecord(batchSize: 10)
        (guards.maximumFailed, guards.sampleSize) = (100, 2)
        let turn = FanoutSlot.Turn(priority: 5, entryMs: 1, entrySequence: 0, job: 0)
        var job = JobRecord(number: 0, kind: .fanout, total: 30, turn: turn)
        job.guards = guards
        let clock = Clock(mutation: mutation, isCalm: false)
        let box = ProjectStateBox(ProjectState(jobs: [job], batchSize: 10, quota: 6_000, activeLimit: 1))
        let referee = Referee(clock: clock, project: 0, jobs: [job], quota: 6_000, activeLimit: 1)
        box.value.register(1, referee: referee)
        box.value.entries.append((0, 0))
        _ = box.value.intake(0, lease: nil, window: 2, 1_000, referee: referee)
        let claim = ClaimCall(
            worker: "1",
            most: 2,
            wanted: 100,
            wantedSingle: 100,
            window: 2,
            retries: 100,
            quotaPerMinute: 6_000
        )
        let claims = try #require(box.value.claim(claim, 5_000, referee: referee)?.claims)
        var failing = try #require(RecordRequest(claims[0].call, lease: 1))
        (failing.call.number, failing.call.firstAttempts) = (1, Array("AA".utf8))
        for index in [0, 1] { failing.call.results.append(index: index, status: .failed) }
        guard case .ok(let stop)? = box.value.record(failing, 5_010, referee: referee) else {
            Issue.record("the job has no guards")
            return
        }
        #expect(stop.paused == .stopIf)
        var asking = try #require(RecordRequest(claims[1].call, lease: 1))
        (asking.call.number, asking.call.watermark) = (1, 8)
        let reply = box.value.record(asking, 5_020, referee: referee)
        guard case .ok(let granted)? = reply else {
            Issue.record("\(String(describing: reply))")
            return
        }
        #expect(granted.watermark == (mutation == nil ? 2 : nil))
        let position = (granted.watermark ?? 8) - 1
        let send = Referee.Send(
            name: claims[1].name,
            epoch: claims[1].epoch,
            index: 10 + position,
            position: position,
            isMaybeDuplicate: false
        )
        referee.checkGuards(send, isFirst: true, box)
        #expect((clock.violation == nil) == (mutation == nil))
    }
}

extension Given {
    /// A call of the batch's holder that says nothing yet.
    var call: RecordCall { RecordCall(job: ProductJob.id(name.job), batch: name.batch, epoch: String(epoch)) }
}
