import Testing

@testable import BenchKit

struct RedisInfoTests {
    private let commands = RedisInfo(
        """
        # Commandstats\r
        cmdstat_xadd:calls=2000,usec=8,usec_per_call=4.00,rejected_calls=0,failed_calls=0\r
        cmdstat_xinfo|groups:calls=7,usec=9,usec_per_call=9.00,rejected_calls=0,failed_calls=0\r
        """
    )

    @Test func callsAreCountedByCommand() {
        #expect(commands.calls == ["xadd": 2_000, "xinfo|groups": 7])
        #expect(RedisInfo("").calls.isEmpty)
    }

    @Test func timesAreOfTheCommandsThatClientsCall() {
        #expect(commands.microseconds == ["xadd": 8, "xinfo|groups": 9])
        let before = ["evalsha": 1_000, "fcall": 500]
        let after = ["evalsha": 9_000, "xread": 2_000, "fcall": 20_500, "xreadgroup": 4_000, "hset": 7_000]
        let figures = CommandTimes.figures(after, since: before, sends: 1_000)
        #expect(figures == ["redis_gateway_us_per_send": 10, "redis_worker_us_per_send": 24])
    }

    @Test func keyBytesLeaveOutBuffers() throws {
        let memory =
            "# Memory\r\nused_memory:1000\r\nused_memory_human:1K\r\nmem_clients_normal:300\r\nmem_aof_buffer:20\r\n"
        #expect(try RedisInfo(memory).keyBytes() == 680)
        #expect(throws: BenchError.self) { try commands.keyBytes() }
    }

    @Test func callsArePerThousandJobsMostFrequentFirst() {
        let calls = ["xadd": 2_500, "hset": 9_000, "exists": 2_000, "get": 40, "time": 1, "info": 3]
        let figures = CommandCalls.figures(calls, since: ["xadd": 500, "get": 40], sends: 2_000)
        #expect(figures.count == 4)
        let run = sample(cpu: 1, figures: figures.merging(["kept_bytes": 300]) { $1 })
        #expect(
            CommandCalls.note("singles", [sample(cpu: 1), run])
                == "commands of Redis for 1,000 jobs of singles: hset 4500, exists 1000, xadd 1000, time 1"
        )
        #expect(CommandCalls.note("singles", []) == nil)
    }
}
