import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FleetSimulation

/// Compares the model with the function library in a real server, by random sequences of calls. The simulation proves
/// nothing about the product unless both give the same answers.
@Suite struct LibraryConformanceTests {
    @Test(arguments: UInt64(1)...60) func libraryDecidesLikeTheModel(_ seed: UInt64) async throws {
        try await withServer { client in
            var mirror = Mirror(client: client, seed: seed)
            for _ in 0..<120 { try await mirror.step() }
            try await mirror.finish()
        }
    }

    @Test(arguments: [60, 900, 30_000, 600_000]) func libraryLendsLikeTheModel(_ quota: Int) async throws {
        try await withServer { client in
            let keys = ProjectKeys(project: "p")
            var dice = Dice(seed: UInt64(quota))
            var governor = QuotaGovernor(quota: quota)
            _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
            for turn in 0..<150 {
                if turn % 50 == 49 {
                    let until = try #require(
                        try await client.send(FunctionLibrary.hold(keys, milliseconds: 40)).string.flatMap { Int64($0) }
                    )
                    governor.hold(milliseconds: 40, nowMs: until - 40)
                }
                var call = ClaimCall(
                    worker: "w",
                    most: 0,
                    wanted: 0,
                    wantedSingle: 0,
                    window: 1,
                    retries: 0,
                    quotaPerMinute: quota
                )
                call.returned = dice.skewed(0...5)
                call.permitsSingle = dice.skewed(0...20)
                call.permitsFanout = dice.skewed(0...2_000)
                if turn >= 40 { call.multicast = dice.chance(0.5) ? 0 : dice.skewed(1...1_200) }
                if turn >= 80 { call.isMulticastSmall = dice.chance(0.3) }
                if turn >= 20, dice.chance(0.9) { call.answers = Self.report(&dice) }
                guard case .reply(let reply)? = ClaimReply.parse(try await client.send(call.command(keys))) else {
                    throw TestFailure("claim gave no reply")
                }
                governor.apply(call.answers, nowMs: reply.nowMs)
                let lent = governor.lend(
                    returned: call.returned,
                    single: call.permitsSingle,
                    fanout: call.permitsFanout,
                    unit: call.multicast,
                    isSmall: call.isMulticastSmall,
                    nowMs: reply.nowMs
                )
                #expect(reply.permits == lent && reply.holdMs == governor.holdMs(nowMs: reply.nowMs), "turn \(turn)")
                try await Task.sleep(for: .milliseconds(dice.skewed(0...20)))
            }
        }
    }
}

extension LibraryConformanceTests {
    /// A random report, sometimes with so many refusals that a hold begins.
    private static func report(_ dice: inout Dice) -> AnswerReport {
        let answers = dice.skewed(0...60)
        let refused = dice.chance(0.7) ? 0 : dice.int(0...answers)
        return AnswerReport(
            answers: answers,
            refused: refused,
            failing: dice.chance(0.8) ? 0 : dice.int(0...answers),
            retryAfterMs: refused > 0 ? Int64(dice.int(0...60)) : 0,
            spanMs: Int64(dice.int(0...15))
        )
    }

    /// Runs minutes of the project's clock, which the test advances between the calls.
    @Test(arguments: [600, 60_000, 600_000], [UInt64(1)]) func anyMinuteStaysWithinTheQuota(
        _ quota: Int,
        seed: UInt64
    ) async throws {
        try await withServer { client in
            let keys = ProjectKeys(project: "p")
            var demand = RandomDemand(quota: quota, seed: seed)
            _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
            var projectClockOffsetMs: Int64 = 0
            while projectClockOffsetMs < 240_000 {
                projectClockOffsetMs += demand.nextStepMs()
                _ = try await client.send(RedisCommand("HSET", keys.base + "ctl", "lead", String(projectClockOffsetMs)))
                let request = demand.next()
                var call = ClaimCall(
                    worker: "w",
                    most: 0,
                    wanted: 0,
                    wantedSingle: 0,
                    window: 1,
                    retries: 0,
                    quotaPerMinute: quota
                )
                (call.returned, call.permitsSingle, call.permitsFanout) = (
                    request.returned, request.single, request.fanout
                )
                (call.multicast, call.answers) = (request.unit, request.report)
                call.isMulticastSmall = request.isSmall
                guard case .reply(let reply)? = ClaimReply.parse(try await client.send(call.command(keys))) else {
                    throw TestFailure("claim gave no reply")
                }
                demand.lent(reply.permits, nowMs: reply.nowMs)
            }
            demand.judge()
        }
    }
}

private func withServer(_ body: (RedisClient) async throws -> Void) async throws {
    let server = try RedisServer()
    let client = try await RedisClient.connect(server.endpoint)
    defer {
        client.close()
        server.stop()
    }
    _ = try await client.send(FunctionLibrary.load())
    try await body(client)
}
