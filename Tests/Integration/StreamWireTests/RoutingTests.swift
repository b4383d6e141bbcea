import StreamWire
import Testing

@Suite struct RoutingTests {
    // As `CLUSTER KEYSLOT` of redis-server 7.0 answers.
    @Test(arguments: [
        ("", 0), ("123456789", 12_739), ("foo", 12_182), ("{user1000}.following", 3_443), ("user1000", 3_443),
        ("foo{}{bar}", 8_363), ("foo{{bar}}zap", 4_015), ("foo{bar}{zap}", 5_061), ("fanfare:{demo}:", 903),
        ("audience:{demo}:x", 903), ("fanfare:projects", 14_498),
    ])
    func keysHaveTheSlotThatRedisGivesThem(_ key: String, _ slot: Int) {
        #expect(HashSlot(key: key).number == slot)
    }

    @Test func slotsEndAt16383() {
        #expect(HashSlot(16_383)?.number == 16_383)
        #expect(HashSlot(16_384) == nil)
        #expect(HashSlot(-1) == nil)
    }

    @Test func everyCommandIsRoutedByItsKey() {
        let keys = ProjectKeys(project: "demo")
        let slot = HashSlot(key: keys.base)
        let commands = [
            FunctionLibrary.pauseProject(keys, reason: "x"), FunctionLibrary.spec(keys, job: "j"),
            JobStream.createGroup(keys), JobStream.read([keys], worker: "w", count: 1, blockMs: 10),
            JobStream.read([keys], worker: "w", count: 1, blockMs: nil, id: "0"),
            JobStream.autoclaim(keys, worker: "w", minIdleMs: 1, start: "0", count: 1),
            HistoryInquiry.slots(keys, .tenSeconds, 1...2), HistoryInquiry.marks(keys, sinceMs: 0),
            HistoryInquiry.audit(keys, most: 1), HistoryInquiry.quota(keys),
            HistoryInquiry.finished(keys, before: nil, skipping: 0, most: 1),
            HistoryInquiry.forget(keys, jobs: ["a"]), JobInquiry.spec(keys, job: "j"),
            JobInquiry.open(keys, parked: true, cursor: "0"),
            RedisCommand("xadd", keys.jobs, "*", "a", "b"), RedisCommand("HGETALL", keys.job("j")),
        ]
        for command in commands {
            #expect(
                command.routingKey.map { HashSlot(key: $0) } == slot,
                "\(String(decoding: command.bytes, as: UTF8.self))"
            )
        }
    }

    @Test func commandsWithoutAKeyGoToAnyNode() {
        for command in [
            RedisCommand("PING"), RedisCommand("INFO", "server"), FunctionLibrary.load(),
            RedisCommand("WAIT", "1", "2"),
            RedisCommand("FCALL", "f", "0", "x"), RedisCommand("SCAN", "0"), RedisCommand("GET"),
            RedisCommand("XREAD", "STREAMS"), JobInquiry.time,
        ] {
            #expect(command.routingKey == nil)
        }
    }

    @Test func onlyFunctionsAndScriptsTouchKeysThatTheyDoNotName() {
        #expect(FunctionLibrary.load().isFunctionCall == false)
        #expect(FunctionLibrary.spec(ProjectKeys(project: "demo"), job: "j").isFunctionCall)
        #expect(RedisCommand("eval", "return 1", "0").isFunctionCall)
        #expect(RedisCommand("XADD", "k", "*", "a", "b").isFunctionCall == false)
    }
}
