import FanfareModel
import HTTPLanes
import Testing

@testable import NGHTTP2Transport

/// The class of each outcome, frame by frame. Streams are numbered 1, 3, 5 in the order of the requests.
@Suite struct HTTP2SessionTests {
    @Test func requestHasItsFieldsAndItsBody() throws {
        let bench = try SessionBench()
        bench.submit(0, body: "hello", headers: ["Content-Type: application/json", "Authorization:Bearer x"])
        bench.flush()
        let frames = Frames.parse(bench.sent).filter { $0.stream == 1 }
        #expect(frames.map(\.type) == [1, 0])
        #expect(frames.map(\.flags) == [4, 1])
        #expect(frames[1].payload == Array("hello".utf8))
    }

    /// The window of an answer is the limit of its body, and at least a frame.
    @Test(arguments: [(1_000, 16_384), (65_536, 65_536)] as [(Int, UInt32)])
    func settingsSwitchPushOffAndBoundHeadersAndAnswers(maximumBodyBytes: Int, window: UInt32) throws {
        let bench = try SessionBench(maximumBodyBytes: maximumBodyBytes)
        let first = try #require(Frames.parse(bench.sent).first)
        #expect(first.type == 4)
        #expect(first.payload == Array(Frames.settings([(2, 0), (4, window), (6, 16_384)]).dropFirst(9)))
    }

    @Test func wholeAnswerIsComplete() throws {
        let bench = try SessionBench()
        bench.send(1)
        let fields = [
            (":status", "503"), ("content-type", "application/json"), ("retry-after", "7"), ("date", "D"), ("x", "y"),
        ]
        bench.receive(Frames.headers(1, fields) + Frames.data(1, #"{"a":1}"#))
        let expected = HTTPAnswer(
            status: 503,
            body: Array(#"{"a":1}"#.utf8),
            contentType: "application/json",
            retryAfter: "7",
            date: "D"
        )
        #expect(bench.answer(0) == expected)
        #expect(bench.ends[0]?.ending == .answered(isMultiplexed: true))
        #expect(bench.session.end == nil)
    }

    @Test func repeatedFieldsAreJoined() throws {
        let bench = try SessionBench()
        bench.send(1)
        let fields = [
            (":status", "503"), ("content-type", "a/b"), ("retry-after", "7"), ("date", "D"), ("retry-after", "9"),
            ("date", "E"), ("content-type", "c/d"),
        ]
        bench.receive(Frames.headers(1, fields) + Frames.data(1, "{}"))
        let expected = HTTPAnswer(
            status: 503,
            body: Array("{}".utf8),
            contentType: "a/b, c/d",
            retryAfter: "7, 9",
            date: "D, E"
        )
        #expect(bench.answer(0) == expected)
    }

    /// One row: what the server writes to two requests, streams 1 and 3, and the outcome of the first.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let frames: [UInt8]
        let kind: String?
        var ending: LaneState.Ending?
        /// Whether the connection continues.
        var goesOn = true
        var testDescription: String { name }
    }

    private static let cut = Frames.status(1) + Frames.data(1, "{", ends: false)
    private static let long = String(repeating: "v", count: 16_000)

    static let rows = [
        Row(name: "status alone", frames: Frames.status(1, ends: true), kind: "200"),
        Row(
            name: "informational, then an answer",
            frames: Frames.headers(1, [(":status", "103")]) + Frames.answer(1),
            kind: "200"
        ),
        Row(name: "informational alone", frames: Frames.headers(1, [(":status", "100")]), kind: nil),
        Row(
            name: "trailers",
            frames: Frames.status(1) + Frames.data(1, "{}", ends: false)
                + Frames.headers(1, [("retry-after", "9")], ends: true),
            kind: "200"
        ),
        Row(name: "reset after the answer", frames: Frames.answer(1) + Frames.reset(1, 8), kind: "200"),
        Row(name: "answer, then reset without error", frames: Frames.answer(1) + Frames.reset(1, 0), kind: "200"),
        Row(name: "data after the end", frames: Frames.answer(1) + Frames.data(1, "x"), kind: "200"),
        Row(
            name: "frames without data",
            frames: Frames.status(1) + (0..<2_000).flatMap { _ in Frames.data(1, "", ends: false) }
                + Frames.data(1, ""),
            kind: "200"
        ),
        Row(name: "reset", frames: Frames.reset(1, 2), kind: "ambiguous", ending: .streamFailed(isCalm: true)),
        Row(
            name: "reset without error",
            frames: Frames.reset(1, 0),
            kind: "ambiguous",
            ending: .streamFailed(isCalm: true)
        ),
        Row(
            name: "asked to calm down",
            frames: Frames.reset(1, 11),
            kind: "ambiguous",
            ending: .streamFailed(isCalm: false)
        ),
        Row(name: "refused", frames: Frames.reset(1, 7), kind: "refused", ending: .refused(isEarlier: false)),
        Row(name: "refused after its status", frames: Frames.status(1) + Frames.reset(1, 7), kind: "200 cut"),
        Row(
            name: "reset in the body",
            frames: cut + Frames.reset(1, 2),
            kind: "200 cut",
            ending: .streamFailed(isCalm: true)
        ),
        Row(
            name: "body shorter than declared",
            frames: Frames.headers(1, [(":status", "200"), ("content-length", "9")]) + Frames.data(1, "{}"),
            kind: "200 cut"
        ),
        Row(
            name: "body longer than declared",
            frames: Frames.headers(1, [(":status", "200"), ("content-length", "1")]) + Frames.data(1, "{}"),
            kind: "200 cut"
        ),
        Row(
            name: "body over the limit",
            frames: Frames.status(1) + Frames.data(1, long),
            kind: "200 cut",
            ending: .cut(isMultiplexed: true)
        ),
        Row(name: "data before the status", frames: Frames.data(1, "{}"), kind: nil, goesOn: false),
        Row(name: "bad status", frames: Frames.headers(1, [(":status", "2x0")]), kind: "ambiguous"),
        Row(name: "status of four digits", frames: Frames.headers(1, [(":status", "9999")]), kind: "ambiguous"),
        Row(name: "no status", frames: Frames.headers(1, [("a", "b")]), kind: "ambiguous"),
        Row(
            name: "upper case",
            frames: Frames.headers(1, [(":status", "200"), ("Retry-After", "1")]),
            kind: "ambiguous"
        ),
        Row(name: "headers over the limit", frames: longHeaders, kind: "ambiguous"),
        Row(name: "window of 0 on the stream", frames: Frames.windowUpdate(1, 0), kind: nil, goesOn: false),
        Row(name: "unknown frame", frames: Frames.frame(0xfa, 0, 1, [1, 2, 3]) + Frames.answer(1), kind: "200"),
        Row(name: "PING", frames: Frames.frame(6, 0, 0, Array(repeating: 7, count: 8)), kind: nil),
        // The end of the connection.
        Row(name: "GOAWAY below", frames: Frames.goAway(last: 0), kind: "refused", goesOn: false),
        Row(name: "GOAWAY at the stream", frames: Frames.goAway(last: 3), kind: nil),
        Row(name: "GOAWAY, then the answer", frames: Frames.goAway(last: 3) + Frames.answer(1), kind: "200"),
        Row(name: "GOAWAY twice", frames: Frames.goAway(last: .max) + Frames.goAway(last: 3), kind: nil),
        Row(name: "GOAWAY raised", frames: Frames.goAway(last: 1) + Frames.goAway(last: 3), kind: nil, goesOn: false),
        Row(name: "bad settings", frames: Frames.frame(4, 0, 0, [1, 2, 3, 4, 5]), kind: nil, goesOn: false),
        Row(name: "data on stream 0", frames: Frames.data(0, "x"), kind: nil, goesOn: false),
        Row(
            name: "bad HPACK",
            frames: Frames.frame(1, 4, 1, [0xff, 0xff, 0xff, 0xff, 0x7f]),
            kind: nil,
            goesOn: false
        ),
        Row(name: "push", frames: Frames.frame(5, 4, 1, Frames.word(2) + [0x88]), kind: nil, goesOn: false),
        Row(name: "window of 0", frames: Frames.windowUpdate(0, 0), kind: nil, goesOn: false),
        Row(name: "HTTP/1", frames: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), kind: nil, goesOn: false),
        Row(name: "CONTINUATION flood", frames: continuations, kind: nil, goesOn: false),
        Row(
            name: "frame over the limit",
            frames: Frames.frame(0, 0, 1, Array(repeating: 0, count: 16_385)),
            kind: nil,
            goesOn: false
        ),
        Row(name: "stream never opened", frames: Frames.reset(99, 2), kind: nil, goesOn: false),
        Row(name: "pushed stream", frames: Frames.status(2), kind: nil, goesOn: false),
    ]

    /// Five fields of 16,000 bytes: more than a header block may have, in frames that each are allowed.
    private static var longHeaders: [UInt8] {
        let block = Frames.field(":status", "200") + (0..<5).flatMap { Frames.field("x-\($0)", long) }
        let parts = stride(from: 0, to: block.count, by: 16_000).map {
            Array(block[$0..<min($0 + 16_000, block.count)])
        }
        return parts.enumerated().flatMap { index, part in
            Frames.frame(index == 0 ? 1 : 9, index == parts.count - 1 ? 4 : 0, 1, part)
        }
    }

    private static var continuations: [UInt8] {
        Frames.frame(1, 0, 1, [0x88])
            + (0..<10_000).flatMap { _ in Frames.frame(9, 0, 1, Frames.field("a", "b")) }
    }

    @Test(arguments: rows) func framesDecideTheOutcome(row: Row) throws {
        let bench = try SessionBench()
        bench.send(2)
        // In one piece, and in small ones: the outcome is the same. nghttp2 1.52 counts a CONTINUATION frame again for
        // each piece of its head, so long rows come in larger pieces.
        bench.receive(row.frames)
        bench.flush()
        #expect(bench.kind(0) == row.kind)
        if let ending = row.ending { #expect(bench.ends[0]?.ending == ending) }
        #expect((bench.session.end == nil) == row.goesOn, "\(bench.session.end ?? "")")

        let slow = try SessionBench()
        slow.send(2)
        let piece = row.frames.count > 10_000 ? 1_000 : 1
        for start in stride(from: 0, to: row.frames.count, by: piece) {
            slow.receive(Array(row.frames[start..<min(start + piece, row.frames.count)]))
        }
        slow.flush()
        #expect(slow.kind(0) == row.kind)

        for side in [bench, slow] {
            side.end()
            #expect(side.ends.count == 2)
            #expect(side.surplus == 0)
            if row.kind == nil { #expect(side.kind(0) == "ambiguous") }
        }
    }

    @Test func requestIsUnsentUntilItsHeadersAreHandedOver() throws {
        let bench = try SessionBench()
        bench.send(1)
        bench.submit(1)
        bench.submit(2)
        // Written into frames, and not handed over.
        bench.session.fill()
        #expect(!bench.session.output.isEmpty)
        bench.submit(3)
        bench.end()
        #expect((0...3).map(bench.kind) == ["ambiguous", "unsent", "unsent", "unsent"])
        #expect(bench.ends[1]?.mayMove == true)
    }

    /// Frames that were written leave later, unless the connection ends: a cancelled request may be processed then.
    @Test func cancelledRequestIsUnsentOnlyBeforeItIsWritten() throws {
        let bench = try SessionBench()
        bench.submit(0)
        bench.session.fill()
        bench.submit(1)
        bench.cancel(0)
        bench.cancel(1)
        #expect([bench.kind(0), bench.kind(1)] == ["ambiguous", "unsent"])
        #expect(bench.ends[1]?.mayMove == false)
        bench.flush()
        // The stream is reset; the request that waited never becomes one.
        #expect(Frames.parse(bench.sent).filter { $0.type == 1 }.map(\.stream) == [1])
        #expect(Frames.parse(bench.sent).contains { $0.type == 3 && $0.stream == 1 })
        bench.receive(Frames.answer(1))
        #expect(bench.ends.count == 2 && bench.surplus == 0)
    }

    /// The pool may cancel a request whose end was recorded and not reported yet: the recorded end counts.
    @Test func cancellingAnEndedRequestReportsItsEnd() throws {
        let bench = try SessionBench()
        bench.send(2)
        (Frames.answer(1) + Frames.reset(3, 7)).withUnsafeBytes { bench.session.receive($0) }
        bench.cancel(0)
        bench.cancel(1)
        #expect((0..<2).map(bench.kind) == ["200", "refused"])
        #expect(bench.session.nextEnd() == nil)
    }

    @Test func numberIsFreeForTheNextRequest() throws {
        let bench = try SessionBench()
        bench.send(1)
        bench.cancel(0)
        bench.submit(0, body: "next")
        bench.flush()
        // A late answer to the first request is not the second one's.
        bench.receive(Frames.answer(1, "late"))
        bench.receive(Frames.answer(3, "right"))
        #expect(bench.answer(0)?.body == Array("right".utf8))
    }

    @Test func fieldsOfAnInformationalAnswerAreDropped() throws {
        let bench = try SessionBench()
        bench.send(1)
        bench.receive(
            Frames.headers(1, [(":status", "103"), ("retry-after", "9")]) + Frames.status(1, "503", ends: true)
        )
        #expect(bench.answer(0) == HTTPAnswer(status: 503, contentType: "application/json"))
    }

    @Test func answerOfOneRequestDoesNotShowInTheNext() throws {
        let bench = try SessionBench()
        bench.send(1)
        bench.receive(Frames.headers(1, [(":status", "503"), ("retry-after", "7")]) + Frames.data(1, "long body"))
        bench.submit(1)
        bench.session.submit(HTTPRequest(tag: 9, url: "https://h:8443/send", body: [1]), number: 0)
        bench.flush()
        bench.receive(Frames.status(3, ends: true) + Frames.status(5, ends: true))
        #expect(bench.answer(1) == HTTPAnswer(status: 200, contentType: "application/json"))
    }

    @Test func streamLimitIsNeverExceeded() throws {
        let bench = try SessionBench(streams: 2)
        #expect(bench.session.serverLimit == 2)
        bench.send(5)
        func open() -> [Int32] { Frames.parse(bench.sent).filter { $0.type == 1 }.map(\.stream) }
        #expect(open() == [1, 3])
        #expect((0..<5).map(bench.session.isHeldBack) == [false, false, true, true, true])
        bench.receive(Frames.answer(1))
        bench.flush()
        #expect(open() == [1, 3, 5])
        bench.receive(Frames.settings([(3, 0)]) + Frames.answer(3) + Frames.answer(5))
        bench.flush()
        #expect(open() == [1, 3, 5])
        bench.receive(Frames.settings([(3, 9)]))
        bench.flush()
        #expect(open() == [1, 3, 5, 7, 9])
    }

    @Test func nothingIsRequestedBeforeTheServersSettings() throws {
        let session = try #require(HTTP2Session(origin: "https://h", maximumBodyBytes: 10))
        session.submit(HTTPRequest(tag: 1, url: "https://h/", body: [1]), number: 0)
        session.fill()
        #expect(session.serverLimit == nil)
        #expect(!Frames.parse(session.output).contains { $0.type == 1 })
    }

    @Test func bodyWaitsForTheWindowAndIsCutByAnEarlyAnswer() throws {
        let bench = try SessionBench()
        bench.receive(Frames.settings([(4, 3)]))
        bench.send(2, body: "0123456789")
        func body(_ stream: Int32) -> [UInt8] {
            Frames.parse(bench.sent).filter { $0.type == 0 && $0.stream == stream }.flatMap(\.payload)
        }
        #expect(body(1) == Array("012".utf8))
        bench.receive(Frames.windowUpdate(1, 4))
        bench.flush()
        #expect(body(1) == Array("0123456".utf8))
        // The window may become negative.
        bench.receive(Frames.settings([(4, 0)]) + Frames.settings([(4, 100)]))
        bench.flush()
        #expect(body(1) == Array("0123456789".utf8))
        bench.receive(Frames.answer(1))

        bench.receive(Frames.settings([(4, 0)]))
        bench.submit(2, body: "xyz")
        bench.flush()
        bench.receive(Frames.status(5, "413", ends: true))
        #expect(bench.kind(2) == "413")
        bench.flush()
        #expect(Frames.parse(bench.sent).contains { $0.type == 3 && $0.stream == 5 })
    }

    @Test func requestsThatWaitAtAGoAwayMayMove() throws {
        let bench = try SessionBench(streams: 1)
        bench.send(3)
        bench.receive(Frames.goAway(last: 1))
        #expect(bench.session.goAwayCode == 0)
        bench.session.endWaiting(reason: "going away")
        bench.receive(Frames.answer(1))
        #expect((0..<3).map(bench.kind) == ["200", "unsent", "unsent"])
        #expect(bench.ends[2]?.mayMove == true)
        bench.flush()
        #expect(bench.session.end == "the server ended the connection: NO_ERROR")
    }

    @Test(arguments: [Frames.settings(), Frames.frame(6, 0, 0, Array(repeating: 1, count: 8))])
    func floodOfRequestsForConfirmationIsBounded(frame: [UInt8]) throws {
        let bench = try SessionBench()
        bench.send(1)
        // Nothing is handed over meanwhile: the confirmations pile up until nghttp2 ends the connection.
        for _ in 0..<2_000 { bench.receive((0..<100).flatMap { _ in frame }) }
        #expect(bench.session.output.count < 100_000)
        #expect(bench.session.end != nil)
        bench.end()
        #expect(bench.kind(0) == "ambiguous")
    }

    @Test func pingIsWritten() throws {
        let bench = try SessionBench()
        bench.session.ping()
        bench.flush()
        #expect(Frames.parse(bench.sent).last?.type == 6)
    }

    /// An answer costs no buffer of its own as long as the last one was let go.
    @Test func smallBufferIsUsedAgain() {
        var exchange = Exchange()
        let request = HTTPRequest(tag: 1, url: "https://h/")
        let block = HeaderBlock(request, origin: "https://h")
        exchange.assign(request, block, maximumBodyBytes: 10_000)
        exchange.answer.append(contentsOf: [UInt8](repeating: 1, count: 500))
        let address = exchange.answer.withUnsafeBytes { $0.baseAddress }
        exchange.finish()
        exchange.assign(request, block, maximumBodyBytes: 10_000)
        exchange.answer.append(contentsOf: [UInt8](repeating: 2, count: 500))
        #expect(exchange.answer.withUnsafeBytes { $0.baseAddress } == address)
        exchange.answer.append(contentsOf: [UInt8](repeating: 1, count: 9_000))
        exchange.finish()
        #expect(exchange.answer.capacity == 0)
    }
}
