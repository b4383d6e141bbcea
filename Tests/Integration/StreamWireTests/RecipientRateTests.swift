import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// FCM's limits for one device: 240 messages a minute, sent evenly, and 5,000 an hour (page "ProtocolFacts").
@Suite struct RecipientRateTests {
    private static let nowMs: Int64 = 1_800_000_000_000
    private static let hourMs: Int64 = 3_600_000

    @Test(arguments: [
        // Sends in an hour that began so many milliseconds ago, and the wait before the next one and the one after it.
        (0, Int64(0), Int64(0), Int64(250)), (4_999, 1_000, 0, hourMs - 1_000), (5_000, 1_000, hourMs - 1_000, 0),
        (5_000, hourMs - 1, 1, 0), (5_000, hourMs, 0, 250),
    ])
    func recipientGetsFiveThousandSendsAnHour(count: Int, ageMs: Int64, wait: Int64, next: Int64) async throws {
        try await withBench(nowMs: Self.nowMs) { bench in
            func waitMs() async throws -> Int64? {
                try await bench.call(FunctionLibrary.pace(bench.keys, recipient: "token:t")).integer
            }
            let now = try await bench.claim("w1").nowMs
            let state = "0|0|\(now - ageMs)|\(count)"
            _ = try await bench.client.send(RedisCommand("HSET", bench.keys.base + "rates", "token:t", state))
            #expect(try await waitMs() == wait)
            if wait == 0 { #expect(try await waitMs() == next) }
        }
    }
}
