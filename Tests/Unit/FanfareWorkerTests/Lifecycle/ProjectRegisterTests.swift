import FanfareConfiguration
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// The entry of a worker's projects in the register.
@Suite struct ProjectRegisterTests {
    private let loop: EventLoop
    private let redis = FakeConnection()
    private let heard = HeardLog()
    private let register: ProjectRegister

    init() throws {
        loop = try EventLoop()
        register = ProjectRegister(
            loop: loop,
            configuration: WorkerConfiguration(settings: Configuration(), redis: .sample, projects: [], name: "w"),
            projects: ["a", "b"],
            logger: heard.logger,
            connection: { [redis] _ in redis }
        )
        register.start()
        redis.becomeReady()
    }

    @Test func enteredProjectsEndTheConnection() {
        #expect(redis.waiting.map(\.words) == [["SADD", "fanfare:projects", "a", "b"]])
        redis.answer(.integer(2))
        #expect(redis.state == .closed && heard.messages == [])
    }

    @Test func transientErrorIsRetriedEachSecond() {
        for _ in 0..<3 {
            redis.refuse("OOM full")
            loop.advance(milliseconds: 999)
            #expect(redis.waiting.isEmpty)
            loop.advance(milliseconds: 1)
            #expect(redis.waiting.map(\.name) == ["SADD"])
        }
        redis.answer(.integer(2))
        #expect(heard.lines.map(\.level) == [.notice, .notice], "the complaint, and its end")
    }

    @Test func permanentErrorEndsIt() {
        redis.refuse("NOPERM no right")
        #expect(redis.state == .closed)
        #expect(heard.metadata.first?["error"].map { "\($0)".contains("NOPERM") } == true)
    }

    @Test(arguments: [false, true]) func nextConnectionEntersTheProjects(whileWaiting: Bool) {
        if whileWaiting { redis.refuse("OOM full") }
        redis.lose()
        loop.advance(milliseconds: 10_000)
        #expect(redis.namesWhileAway == [])
        redis.becomeReady()
        #expect(redis.waiting.map(\.name) == ["SADD"])
    }

    @Test func closedRegisterEntersNothing() {
        redis.refuse("OOM full")
        register.close()
        loop.advance(milliseconds: 10_000)
        #expect(redis.names == ["SADD"] && redis.namesWhileAway == [])
    }
}
