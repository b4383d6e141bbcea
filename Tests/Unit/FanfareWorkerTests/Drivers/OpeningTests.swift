import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// In which order the projects of a server are opened on a new connection, and how many at a time.
@Suite struct OpeningTests {
    private let bench: SessionBench

    init() throws { bench = try SessionBench(projects: (0..<120).map { "p\($0)" }) }

    /// The projects whose job streams got a group since the last call.
    private func opened() -> [String] {
        bench.loop.advance()
        let created = bench.redis.waiting.filter { $0.name == "XGROUP" }
        return created.map { String($0.words[2].dropFirst("fanfare:{".count).prefix { $0 != "}" }) }
    }

    private func connect() {
        bench.redis.becomeReady()
        bench.serve(until: "XGROUP")
    }

    @Test func projectsAreOpenedFiftyAtATime() {
        bench.link.start()
        connect()
        #expect(opened() == (0..<50).map { "p\($0)" })
        bench.loop.advance(milliseconds: 100)
        #expect(opened().count == 50, "Redis has not answered yet")
        for expected in [50..<100, 100..<120] {
            bench.redis.serve { $0.name == "XGROUP" ? .status("OK") : $0.usualReply }
            bench.loop.advance(milliseconds: 20)
            #expect(opened() == expected.map { "p\($0)" })
        }
    }

    /// A project that Redis refuses holds no other one up for longer.
    @Test func otherProjectsFollowAfterTwoSeconds() {
        bench.link.start()
        connect()
        bench.loop.advance(milliseconds: 2_020)
        #expect(opened().count == 100)
    }

    /// Another worker may claim what a new primary has forgotten.
    @Test func projectsWithResultsAreOpenedFirst() {
        bench.link.start()
        bench.link.runners[70].writer.write(DriverBench.flush("a"))
        connect()
        #expect(opened() == ["p70"])
        bench.serve(until: "EXISTS")
        bench.loop.advance(milliseconds: 20)
        #expect(opened().first == "p0")
    }
}
