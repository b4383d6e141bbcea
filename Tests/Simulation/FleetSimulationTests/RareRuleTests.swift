import FanfareModel
import StreamWire
import Testing

@testable import FleetSimulation

/// Rules that few seeds reach, mostly because they need a failover to a host whose clock is behind.
@Suite struct RareRuleTests {
    @Test(arguments: [nil, Mutation.keepDeadOwners]) func recordOfADeadWorkerIsRefused(_ mutation: Mutation?) {
        let world = SmallWorld(mutation: mutation)
        let given = world.claim(lease: 1, nowMs: 5_000)?.claims.first
        #expect(world.state.declareDead(1, counter: 1, 5_010, referee: world.referee) == 1)
        #expect((world.record(lease: 1, given, nowMs: 5_020) == .stale) == (mutation == nil))
        #expect((world.clock.violation == nil) == (mutation == nil))
    }

    @Test func permitsReservedForSingleRecipientsExpire() {
        var governor = QuotaGovernor(quota: 60)
        _ = governor.lend(returned: 0, single: 5, fanout: 0, nowMs: 0)
        var lent = 0
        for nowMs in stride(from: Int64(50), through: 10_000, by: 50) {
            lent += governor.lend(returned: 0, single: 0, fanout: 10, nowMs: nowMs)
        }
        #expect(lent >= 8)
    }

    @Test(arguments: [nil, Mutation.acceptOldConnections]) func callOfAnEarlierConnectionIsRefused(
        _ mutation: Mutation?
    ) {
        let world = SmallWorld(mutation: mutation)
        #expect(world.claim(lease: 1, nowMs: 5_000, connection: 2)?.claims.count == 1)
        let taken = world.state.reconcile(1, 1, isSameServer: true, [], referee: world.referee)
        #expect((taken == nil) == (mutation == nil), "an earlier connection must not take batches of a later one")
        #expect((world.state.held(by: 1) == 1) == (mutation == nil))
    }

    /// Redis restarts with the state before a result was written, and the worker closes its batch.
    @Test(arguments: [nil, Mutation.closeUnchecked]) func batchWithAForgottenResultIsTakenOver(_ mutation: Mutation?) {
        let world = SmallWorld(mutation: mutation)
        let given = world.claim(lease: 1, nowMs: 5_000)?.claims.first
        let before = world.state
        #expect(world.record(lease: 1, given, nowMs: 5_010, results: [0]) == .ok())
        world.state = before
        #expect(world.record(lease: 1, given, nowMs: 5_020, results: [1], isFinish: true) == .ok())
        let next = world.claim(lease: 2, nowMs: 5_030)?.claims.first
        #expect((next?.fates == [.maybeSent, .finished]) == (mutation == nil))
        #expect((next == nil) == (mutation != nil))
    }

    @Test func batchForgottenByRedisIsTakenFromItsHolder() {
        let world = SmallWorld(mutation: nil)
        let unclaimed = world.state
        guard let given = world.claim(lease: 1, nowMs: 5_000)?.claims.first else { return #expect(Bool(false)) }
        let claimed = world.state
        #expect(world.record(lease: 1, given, nowMs: 5_010, results: [0]) == .ok())
        let known = [FunctionLibrary.KnownBatch(name: given.name.text, call: 1, watermark: 1)]
        for state in [claimed, unclaimed] {
            world.state = state
            #expect(world.state.reconcile(1, 2, isSameServer: false, known, referee: world.referee) == [given.name])
            let next = world.claim(lease: 2, nowMs: 5_030)?.claims.first
            // The watermark is that of the claim, or the holder's if Redis lost the claim.
            #expect(next?.fates == [.maybeSent, state.batches.isEmpty ? .unsent : .maybeSent])
        }
    }

    @Test func endingJobIsNotParked() {
        let world = SmallWorld(mutation: nil)
        world.state.end(0, .cancelled, 5_000, referee: world.referee)
        world.state.park(0, 5_001, referee: world.referee)
        #expect(!world.state.jobs[0].isParked && world.state.parked.isEmpty)
    }

    @Test(arguments: [nil, Mutation.compareEpochOnly]) func epochGivenTwiceHasOneOwner(
        _ mutation: Mutation?
    ) {
        let world = SmallWorld(mutation: mutation)
        let before = world.state
        let first = world.claim(lease: 1, nowMs: 5_000)
        // The claim is lost, and the new server's clock shows the same time as the old one's.
        world.state = before
        let second = world.claim(lease: 2, nowMs: 5_000)
        #expect(first?.claims.first?.epoch == second?.claims.first?.epoch)
        let reply = world.record(lease: 1, first?.claims.first, nowMs: 5_010)
        #expect((reply == .stale) == (mutation == nil))
        #expect((world.clock.violation == nil) == (mutation == nil))
    }

    @Test(arguments: [nil, Mutation.keepNewsCursor]) func newsAfterARollbackIsRead(_ mutation: Mutation?) {
        let world = SmallWorld(mutation: mutation)
        world.state.appendNews(.stop(epoch: 0), 0, 5_000)
        let cursor = world.claim(lease: 1, nowMs: 5_001)?.cursor ?? NewsID()
        world.state.news = []
        world.state.lastNews = NewsID()
        world.state.appendNews(.stop(epoch: 0), 0, 3_000)
        let reply = world.claim(lease: 1, nowMs: 3_001, cursor: cursor)
        #expect(reply?.news.count == (mutation == nil ? 1 : 0))
    }

    @Test(arguments: [nil, Mutation.markBeforeWrite]) func repeatedRecordCallLosesNoResult(_ mutation: Mutation?) {
        let world = SmallWorld(mutation: mutation)
        let given = world.claim(lease: 1, nowMs: 5_000)?.claims.first
        let failed = world.record(lease: 1, given, nowMs: 5_010, results: [0, 1], failsBetween: true)
        let repeated = world.record(lease: 1, given, nowMs: 5_110, results: [0, 1])
        #expect(failed == nil && repeated == .ok())
        let job = world.state.jobs[0]
        #expect(job.isOver && job.counters[.sent] == 2)
        #expect(job.written == (mutation == nil ? [2, 2] : [0, 0]))
        world.referee.judge(world.state)
        #expect((world.clock.violation == nil) == (mutation == nil))
    }
}

/// One project with one job of two recipients and two registered workers.
private final class SmallWorld {
    var state: ProjectState
    let clock: Clock
    let referee: Referee

    init(mutation: Mutation?) {
        let turn = FanoutSlot.Turn(priority: 5, entryMs: 1, entrySequence: 0, job: 0)
        let jobs = [JobRecord(number: 0, kind: .single, total: 2, turn: turn)]
        clock = Clock(mutation: mutation, isCalm: false)
        state = ProjectState(jobs: jobs, batchSize: 10, quota: 6_000, activeLimit: 1)
        referee = Referee(clock: clock, project: 0, jobs: jobs, quota: 6_000, activeLimit: 1)
        state.register(1, referee: referee)
        state.register(2, referee: referee)
        state.entries.append((0, 0))
        _ = state.intake(0, lease: nil, window: 2, 1_000, referee: referee)
    }

    func claim(lease: Int, nowMs: Int64, connection: Int = 1, cursor: NewsID = NewsID()) -> ClaimAnswer? {
        var call = ClaimCall(
            worker: String(lease),
            most: 8,
            wanted: 100,
            wantedSingle: 100,
            window: 2,
            retries: 100,
            quotaPerMinute: 6_000
        )
        (call.connection, call.newsCursor) = (connection, cursor.text)
        return state.claim(call, nowMs, referee: referee)
    }

    func record(
        lease: Int,
        _ given: Given?,
        nowMs: Int64,
        results: [Int] = [],
        isFinish: Bool = false,
        failsBetween: Bool = false
    ) -> RecordReply? {
        guard let given else { return .gone }
        var call = given.call
        (call.number, call.watermark, call.finish) = (1, 2, isFinish)
        for index in results { call.results.append(index: index, status: .sent) }
        guard let request = RecordRequest(call, lease: lease) else { return .gone }
        return state.record(request, nowMs, failsBetween: failsBetween, referee: referee)
    }
}
