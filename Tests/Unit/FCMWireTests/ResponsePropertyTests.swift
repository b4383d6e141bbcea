import FanfareJSON
import FanfareModel
import Testing

@testable import FCMWire

@Suite struct ResponsePropertyTests {
    /// Each token's fate is written into its own entry; the verdicts must come back in the same order however the
    /// fates are shuffled.
    @Test func resultsMapByIndexForAnyPermutation() throws {
        var generator = ResponseGenerator(seed: 31)
        for _ in 0..<100 {
            let count = Int.random(in: 1...1_000, using: &generator)
            let fates = (0..<count).map { _ in Int.random(in: 0..<5, using: &generator) }
            let entries = fates.enumerated().map { index, fate in
                switch fate {
                case 0: return #"{"message_id":"m\#(index)"}"#
                case 1: return #"{"message_id":"m\#(index)","registration_id":"c\#(index)"}"#
                case 2: return #"{"error":"NotRegistered"}"#
                case 3: return #"{"error":"Unavailable"}"#
                default: return "{}"
                }
            }
            let body = #"{"multicast_id":9223372036854775807,"results":["# + entries.joined(separator: ",") + "]}"
            let verdicts = LegacyResponse.verdicts(
                answer(200, body),
                recipients: (0..<count).map { "t\($0)" },
                kind: .token,
                nowMs: 0,
                atMostOnce: false
            )
            try #require(verdicts.count == count)
            for (index, (fate, verdict)) in zip(fates, verdicts).enumerated() {
                switch (fate, verdict) {
                case (0, .sent("m\(index)", nil)), (1, .sent("m\(index)", "c\(index)")): break
                case (2, .failed(let failure)) where failure.error == .unregistered: break
                case (3, .retry(let retry)) where !retry.mayHaveArrived: break
                case (4, .retry(let retry)) where retry.mayHaveArrived: break
                default: Issue.record("index \(index): fate \(fate), \(verdict)")
                }
            }
        }
    }

    @Test(
        arguments: [
            ("7497838685051704056", 7_497_838_685_051_704_056), ("9223372036854775807", Int64.max), ("216", 216),
            ("9223372036854775808", nil), ("\"216\"", nil),
        ] as [(String, Int64?)]
    )
    func multicastIDsKeepAllBits(written: String, expected: Int64?) throws {
        let value = try JSONParser.parse(Array(#"{"multicast_id":\#(written)}"#.utf8))
        #expect(LegacyAnswer(value)?.multicastID == expected)
    }

    static let seeds: [String] = [
        #"{"name":"projects/p/messages/0:1500415314455276%31bd1c9631bd1c96"}"#,
        #"{"error":{"code":404,"message":"m","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google."#
            + #"firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"},{"@type":"type.googleapis.com/google.firebase."#
            + #"fcm.v1.ApnsError","statusCode":410},{"@type":"type.googleapis.com/google.rpc.BadRequest","#
            + #""fieldViolations":[{"field":"message.token"}]}]}}"#,
        #"{"multicast_id":216,"success":1,"failure":1,"canonical_ids":0,"results":[{"message_id":"1:0408"},"#
            + #"{"error":"Unavailable"},{"message_id":"1","registration_id":"32"}]}"#,
        #"{"success":1,"failure":2,"failed_registration_ids":["r1","r2"]}"#, #"{"message_id":6538123456789}"#,
        #"{"error":"TopicsMessageRateExceeded"}"#, "JSON_PARSING_ERROR: Unexpected token", "<html></html>",
    ]

    @Test func noBodyTrapsAndTheCountIsAlwaysRight() {
        var generator = ResponseGenerator(seed: 32)
        let statuses = [200, 200, 200, 201, 302, 400, 401, 403, 404, 409, 429, 500, 503, 599, Int.min, Int.max]
        let types = ["application/json", "text/plain", "text/html", ";", "", nil]
        let headers = [nil, "5", "-1", "99999999999999999999", "Sun, 06 Nov 1994 08:50:37 GMT", "\u{0}"]
        for _ in 0..<30_000 {
            let seed = Array(Self.seeds[Int.random(in: 0..<Self.seeds.count, using: &generator)].utf8)
            let outcome = RequestOutcome.answered(
                HTTPAnswer(
                    status: statuses.randomElement(using: &generator) ?? 200,
                    body: seed.mutated(using: &generator),
                    isComplete: Int.random(in: 0..<8, using: &generator) > 0,
                    contentType: types.randomElement(using: &generator) ?? nil,
                    retryAfter: headers.randomElement(using: &generator) ?? nil
                )
            )
            let kind = RecipientKind.allCases.randomElement(using: &generator) ?? .token
            let atMostOnce = Bool.random(using: &generator)
            let count = Int.random(in: 0...4, using: &generator)
            let single = V1Response.verdict(outcome, kind: kind, nowMs: responseNow, atMostOnce: atMostOnce)
            let many = LegacyResponse.verdicts(
                outcome,
                recipients: (0..<count).map { "t\($0)" },
                kind: kind,
                nowMs: responseNow,
                atMostOnce: atMostOnce
            )
            #expect(many.count == count)
            for verdict in Array(many) + [single] { check(verdict, atMostOnce: atMostOnce) }
        }
    }

    /// An answer that holds a name and nothing else is read by a shorter way: it must say what the parser says.
    @Test func aLoneNameIsReadAsTheParserReadsIt() {
        var generator = ResponseGenerator(seed: 33)
        let seeds = [
            #"{"name":"projects/p/messages/0:1%31bd"}"#, " {\r\n\t\"name\" : \"projects/p/messages/0:1\"\n}\n",
            #"{"name":""}"#, #"{"name":"a\u0062\/\"é"}"#, #"{"name":"a","name":"b"}"#, #"{"name":["a"]}"#,
        ]
        let pieces = [
            #"""#, #"\"#, #"\n"#, "\u{0}", "\u{7F}", "\u{1F}", "é", "\u{FEFF}", " ", "\n", ",", ":", "{", "}",
            #","name":"c""#, #"name"#, "null",
        ]
        var (lone, other, lost) = (0, 0, 0)
        for _ in 0..<30_000 {
            var body = Array(seeds[Int.random(in: 0..<seeds.count, using: &generator)].utf8)
            if Bool.random(using: &generator) {
                let piece = pieces[Int.random(in: 0..<pieces.count, using: &generator)].utf8
                body.insert(contentsOf: piece, at: Int.random(in: 0...body.count, using: &generator))
            } else {
                body = body.mutated(using: &generator)
            }
            let answer = HTTPAnswer(status: 200, body: body, isComplete: true, contentType: "application/json")
            let value = try? JSONParser.parse(body)
            #expect(
                V1Response.verdict(.answered(answer), kind: .token, nowMs: responseNow, atMostOnce: false)
                    == .sent(messageID: value?.object?["name"]?.string ?? "", canonical: nil),
                "\(String(decoding: body, as: UTF8.self))"
            )
            let isLone = AnswerBody.loneName(answer) != nil
            if isLone { lone += 1 } else if value == nil { lost += 1 } else { other += 1 }
        }
        // Each of the ways was taken.
        #expect(min(lone, other, lost) > 1_000, "\(lone) \(other) \(lost)")
    }

    private func check(_ verdict: Verdict, atMostOnce: Bool) {
        switch verdict {
        case .retry(let retry):
            #expect(!(atMostOnce && retry.mayHaveArrived), "an unknown outcome must not be sent again")
            #expect(retry.floorMs >= 10_000)
            #expect(retry.retryAfterMs.map { (1...RetryAfterParser.maximumMs).contains($0) } ?? true)
            #expect(retry.failure.rawError.utf8.count <= RawError.maximumBytes)
        case .failed(let failure), .refreshCredential(let failure), .blockProject(let failure):
            #expect(failure.rawError.utf8.count <= RawError.maximumBytes)
        case .unknown:
            #expect(atMostOnce)
        case .sent, .sentPartly:
            break
        case .managed, .listed:
            Issue.record("no send ends as an operation")
        }
    }
}
