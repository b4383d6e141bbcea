import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Faults of keys and rights in Redis, and when they are looked for.
@Suite struct StateCheckTests {
    private let bench: DriverBench
    private let check: StateCheck

    init() throws {
        bench = try DriverBench()
        check = StateCheck(project: bench.context)
    }

    private static let type = RedisValue.pairs([
        "key": .text("fanfare:{p}:jobs"), "found": .text("string"), "needed": .text("stream"),
    ])
    private static let right = RedisValue.pairs(["key": .text("fanfare:{p}:x"), "command": .text("XADD")])

    private func find(_ faults: [RedisValue]) {
        check.check()
        bench.redis.answer(.array(faults))
    }

    @Test func eachFaultIsLoggedWithItsPlace() {
        find([Self.type, Self.right])
        #expect(bench.heard.lines.map(\.level) == [.error, .error])
        #expect(
            bench.heard.metadata == [
                ["key": "fanfare:{p}:jobs", "type": "string", "needed": "stream"],
                ["command": "XADD", "key": "fanfare:{p}:x"],
            ]
        )
        #expect(bench.heard.messages.first?.contains("wrong type") == true)
        #expect(bench.heard.messages.last?.contains("ops/redis/fanfare.acl") == true)
    }

    @Test func faultThatStaysIsLoggedOnceAMinute() {
        for _ in 0..<3 { find([Self.type]) }
        #expect(bench.heard.messages.count == 1)
        bench.loop.advance(milliseconds: 60_000)
        find([Self.type])
        #expect(bench.heard.messages.count == 2)
    }

    @Test func faultThatComesBackIsLoggedAtOnce() {
        find([Self.type])
        find([])
        find([Self.type])
        #expect(bench.heard.messages.count == 2)
    }

    @Test(arguments: [nil, RedisValue.text("unheard of")]) func checkWithoutAnAnswerFindsNothing(_ answer: RedisValue?)
    {
        check.check()
        if let answer { bench.redis.answer(answer) } else { bench.redis.refuse() }
        #expect(bench.heard.messages == [])
    }

    // MARK: After a refusal

    @Test(arguments: [
        ("NOPERM no right", true), ("WRONGTYPE key", true), ("LOADING later", false), ("OOM full", false),
    ])
    func permanentErrorLeadsToACheck(_ line: String, _ isChecked: Bool) {
        check.refused(RedisError(reply: line))
        #expect(bench.redis.names == (isChecked ? ["check"] : []))
    }

    @Test func manyRefusalsLeadToOneCheckInFiveSeconds() {
        for _ in 0..<10 { check.refused(RedisError(reply: "NOPERM no right")) }
        #expect(bench.redis.names == ["check"])
        bench.loop.advance(milliseconds: 5_000)
        check.refused(RedisError(reply: "NOPERM no right"))
        #expect(bench.redis.names == ["check", "check"])
    }

    @Test func refusedWriteOfTheProjectIsChecked() {
        bench.writer.open(isSameServer: true)
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.refuse("NOPERM no right")
        #expect(bench.redis.names.contains("check"))
    }
}
