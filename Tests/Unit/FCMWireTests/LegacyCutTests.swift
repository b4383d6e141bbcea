import FCMWire
import FanfareModel
import Testing

/// Legacy answers of status 200 whose body is not all there: what has arrived counts, and nothing else is known.
@Suite struct LegacyCutTests {
    /// One result of an answer: its JSON, and what it means.
    private struct Entry {
        var text: String
        var verdict: Verdict
    }

    private static let entries: [Entry] = [
        Entry(text: #"{"message_id":"1:0408"}"#, verdict: .sent(messageID: "1:0408", canonical: nil)),
        Entry(text: #"{"error":"NotRegistered"}"#, verdict: failed(.unregistered, .remove, "NotRegistered")),
        Entry(
            text: #"{"message_id":"1:2342","registration_id":"U-32"}"#,
            verdict: .sent(messageID: "1:2342", canonical: "U-32")
        ),
        Entry(
            text: #"{"error":"Unavailable"}"#,
            verdict: .retry(
                Retry(failure: Failure(error: .unavailable, action: .none, rawError: "Unavailable", httpStatus: 200))
            )
        ),
        Entry(
            text: #"{ "x" : [1,{"y":"}]\"{"}], "message_id" : "\u0041}\\" }"#,
            verdict: .sent(messageID: #"A}\"#, canonical: nil)
        ),
    ]

    private static func failed(_ error: ErrorCode, _ action: RemedyAction, _ raw: String) -> Verdict {
        .failed(Failure(error: error, action: action, rawError: raw, httpStatus: 200))
    }

    private static func verdicts(
        _ outcome: RequestOutcome,
        _ count: Int,
        kind: RecipientKind = .token,
        atMostOnce: Bool = false
    ) -> [Verdict] {
        Array(
            LegacyResponse.verdicts(
                outcome,
                recipients: (0..<count).map { "T\($0)" },
                kind: kind,
                nowMs: responseNow,
                atMostOnce: atMostOnce
            )
        )
    }

    private static func mayHaveArrived(_ verdict: Verdict, atMostOnce: Bool) -> Bool {
        switch verdict {
        case .retry(let retry): !atMostOnce && retry.mayHaveArrived && retry.cause == .unanswered
        case .unknown: atMostOnce
        default: false
        }
    }

    /// Heads and ends as FCM writes them, and as it might.
    private static let frames: [(head: String, separator: String, end: String)] = [
        (#"{"multicast_id":216,"success":3,"failure":2,"canonical_ids":1,"results":["#, ",", "]}"),
        ("{ \"multicast_id\" : 216 ,\r\n \"results\" : [ ", " ,\n ", " ] , \"more\" : {\"results\":[]} }\n"),
        (#"{"note":"\"results\":[{}]","results":["#, ",", "]}"),
    ]

    /// Cut at every byte, in both modes: results whose last byte arrived count by their position.
    @Test(arguments: 0..<frames.count, [false, true])
    func resultsAtTheFrontCountWhereverTheBodyIsCut(frame: Int, atMostOnce: Bool) {
        let (head, separator, end) = Self.frames[frame]
        var body = head
        var ends: [Int] = []
        for (index, entry) in Self.entries.enumerated() {
            if index > 0 { body += separator }
            body += entry.text
            ends.append(body.utf8.count)
        }
        body += end
        let bytes = Array(body.utf8)
        for length in 0...bytes.count {
            // A stream that was reset or that stalled; and one that ended as if the body were whole.
            for isComplete in [false, true] {
                let answer = HTTPAnswer(
                    status: 200,
                    body: Array(bytes[..<length]),
                    isComplete: isComplete,
                    contentType: "application/json; charset=UTF-8"
                )
                let verdicts = Self.verdicts(.answered(answer), ends.count, atMostOnce: atMostOnce)
                #expect(verdicts.count == ends.count)
                for (index, verdict) in verdicts.enumerated() {
                    let isRight =
                        length >= ends[index]
                        ? verdict == Self.entries[index].verdict
                        : Self.mayHaveArrived(verdict, atMostOnce: atMostOnce)
                    #expect(isRight, "\(index) of a body cut at \(length): \(verdict)")
                }
            }
        }
    }

    /// A request for one token has one result, whichever way it named the token.
    @Test(arguments: [false, true]) func aSingleTokensResultCountsOnceItIsWhole(atMostOnce: Bool) {
        let body = Array(#"{"multicast_id":1,"results":[{"message_id":"m"}]}"#.utf8)
        let end = body.count - 2
        for length in 0...body.count {
            let answer = HTTPAnswer(
                status: 200,
                body: Array(body[..<length]),
                isComplete: false,
                contentType: "application/json"
            )
            let verdict = Self.verdicts(.answered(answer), 1, atMostOnce: atMostOnce)[0]
            let isRight =
                length >= end
                ? verdict == .sent(messageID: "m", canonical: nil)
                : Self.mayHaveArrived(verdict, atMostOnce: atMostOnce)
            #expect(isRight, "cut at \(length): \(verdict)")
        }
    }

    /// A topic's or a group's word is the whole body: a number may lack digits, a list may lack members.
    @Test(arguments: [
        (RecipientKind.topic, #"{"message_id":6538123456789012345}"#),
        (.condition, #"{"message_id":6538123456789012345}"#),
        (.group, #"{"success":1,"failure":1,"failed_registration_ids":["a"]}"#),
    ])
    func aTopicsOrGroupsWordIsTheWholeBody(kind: RecipientKind, body: String) {
        let bytes = Array(body.utf8)
        for length in 0..<bytes.count {
            let cut = String(decoding: bytes[..<length], as: UTF8.self)
            for atMostOnce in [false, true] {
                let verdict = Self.verdicts(
                    answer(200, cut, isComplete: false),
                    1,
                    kind: kind,
                    atMostOnce: atMostOnce
                )[0]
                #expect(Self.mayHaveArrived(verdict, atMostOnce: atMostOnce), "\(cut): \(verdict)")
            }
        }
        for isComplete in [false, true] {
            let verdict = Self.verdicts(answer(200, body, isComplete: isComplete), 1, kind: kind)[0]
            #expect(!Self.mayHaveArrived(verdict, atMostOnce: false), "\(verdict)")
        }
    }

    /// A list of results that ended must match the request, also where the object around it did not end; and more
    /// results than recipients prove nothing, wherever the body was cut.
    @Test(arguments: [
        #"{"results":[{"message_id":"a"}]"#, #"{"results":[{"message_id":"a"}],"x":"#, #"{"results":[]"#,
        #"{"results":[{"message_id":"a"},{"message_id":"b"},{"message_id":"c"}"#,
        #"{"results":[{"message_id":"a"},{"message_id":"b"},{"message_id":"c"}]"#,
    ])
    func aListThatDoesNotFitProvesNothing(body: String) {
        for atMostOnce in [false, true] {
            for verdict in Self.verdicts(answer(200, body, isComplete: false), 2, atMostOnce: atMostOnce) {
                #expect(Self.mayHaveArrived(verdict, atMostOnce: atMostOnce), "\(verdict)")
            }
        }
    }

    /// What stands before the results, or between them, has to be JSON: nothing is guessed after a fault.
    @Test(arguments: [
        ("", 0), ("\u{0}", 0), ("{", 0), (#"{"results":[{"message_id":"a"},{"mess"#, 1), (#"{"results":[nul,{}]}"#, 0),
        (#"{"results":[{"message_id":"a"},,{"message_id":"b"}]}"#, 1), (#"{"a":tru,"results":[{"message_id":"a"}"#, 0),
        (#"{"results":[{"message_id":"a"};"#, 1), (#"{"results":[{"message_id":"a""#, 0), (#"["results"#, 0),
        (#"{"results":[{"message_id":"a"}{"message_id":"b"}]}"#, 1), (#"{"results" [{"message_id":"a"}]}"#, 0),
    ])
    func nothingBehindAFaultCounts(body: String, known: Int) {
        for isComplete in [false, true] {
            let verdicts = Self.verdicts(answer(200, body, isComplete: isComplete), 2)
            let sent = Verdict.sent(messageID: "a", canonical: nil)
            #expect(verdicts.count == 2 && verdicts.prefix(known).allSatisfy { $0 == sent }, "\(verdicts)")
            #expect(verdicts.dropFirst(known).allSatisfy { Self.mayHaveArrived($0, atMostOnce: false) }, "\(verdicts)")
        }
    }

    /// Plain text, cut at every byte: its first line counts with its line feed.
    @Test(arguments: [
        ("id=1:0408\nregistration_id=U-32\n", Verdict.sent(messageID: "1:0408", canonical: nil)),
        ("Error=NotRegistered\n", failed(.unregistered, .remove, "NotRegistered")),
        ("Error=Novelty\n", failed(.unspecified, .none, "Novelty")),
    ])
    func aLineOfTextCountsOnceItIsWhole(body: String, first: Verdict) throws {
        let bytes = Array(body.utf8)
        let end = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
        for length in 0..<bytes.count {
            for atMostOnce in [false, true] {
                let cut = String(decoding: bytes[..<length], as: UTF8.self)
                let verdict = PlainTextResponse.verdict(
                    answer(200, cut, type: "text/plain", isComplete: false),
                    recipient: "T",
                    nowMs: responseNow,
                    atMostOnce: atMostOnce
                )
                let isRight =
                    length >= end ? verdict == first : Self.mayHaveArrived(verdict, atMostOnce: atMostOnce)
                #expect(isRight, "cut at \(length): \(verdict)")
            }
        }
    }

    @Test func noCutOrSpoiltBodyTraps() {
        var generator = ResponseGenerator(seed: 0x16)
        let body = Array(
            (Self.frames[1].head + Self.entries.map(\.text).joined(separator: ",") + Self.frames[1].end).utf8
        )
        for _ in 0..<20_000 {
            let answer = HTTPAnswer(
                status: 200,
                body: body.mutated(using: &generator),
                isComplete: Bool.random(using: &generator),
                contentType: "application/json"
            )
            let count = Int.random(in: 1...7, using: &generator)
            #expect(Self.verdicts(.answered(answer), count).count == count)
        }
    }
}
