import FanfareModel
import HTTPLanes
import Testing

@testable import NGHTTP2Transport

/// What a session counts as held by its answers.
@Suite struct HeldAnswerTests {
    private func part(_ stream: Int32, _ bytes: Int) -> [UInt8] {
        Frames.status(stream) + Frames.data(stream, String(repeating: "x", count: bytes), ends: false)
    }

    @Test func heldBytesAreThoseOfUnfinishedAnswers() throws {
        let bench = try SessionBench()
        bench.send(4)
        #expect(bench.session.heldBytes == 0 && bench.session.largestAnswer == nil)
        bench.receive(part(1, 100) + part(3, 300) + part(5, 200))
        #expect((600..<700).contains(bench.session.heldBytes))
        #expect(bench.session.largestAnswer?.number == 1)
        bench.receive(Frames.data(3, "x"))
        #expect((300..<350).contains(bench.session.heldBytes) && bench.session.largestAnswer?.number == 2)
        bench.cancel(2)
        bench.receive(Frames.reset(1, 8))
        #expect(bench.session.heldBytes == 0 && bench.session.largestAnswer == nil)
        bench.receive(part(7, 50))
        bench.end()
        #expect(bench.session.heldBytes == 0)
        #expect((0..<4).map(bench.kind) == ["200 cut", "200", "200 cut", "200 cut"])
    }

    /// The part of an answer that is within its limit stays: results at its front count.
    @Test func cutAnswerKeepsItsFront() throws {
        let bench = try SessionBench(maximumBodyBytes: 1_000)
        bench.send(1)
        bench.receive(part(1, 900) + Frames.data(1, String(repeating: "y", count: 200), ends: false))
        #expect(bench.kind(0) == "200 cut")
        #expect(
            bench.answer(0)?.body
                == Array((String(repeating: "x", count: 900) + String(repeating: "y", count: 100)).utf8)
        )
        #expect(bench.session.heldBytes == 0)
    }

    /// Its front alone could say something else: `5` before a thousand blanks and a word.
    @Test func longHeaderValueIsUnreadable() throws {
        let bench = try SessionBench()
        bench.send(2)
        for (stream, count) in [(Int32(1), 1_024), (3, 1_025)] {
            let long = "5" + String(repeating: " ", count: count - 2) + "x"
            let fields = [(":status", "503"), ("retry-after", long), ("content-type", long), ("date", long)]
            bench.receive(Frames.headers(stream, fields, ends: true))
            let answer = try #require(bench.answer(Int(stream / 2)))
            let expected = count > 1_024 ? "unreadable" : long
            #expect([answer.retryAfter, answer.contentType, answer.date] == [expected, expected, expected])
        }
    }
}
