import FanfareJSON
import FanfareModel
import Foundation
import StreamWire
import Testing

@testable import FanfareCore

@Suite struct ResultRecordTests {
    private func text(_ record: ResultRecord?) throws -> String {
        var bytes: [UInt8] = []
        try #require(record).appendJSON(to: &bytes)
        _ = try JSONParser.parse(bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func record(_ verdict: Verdict, kind: RecipientKind = .token, maybeDup: Bool = false) -> ResultRecord? {
        var record = ResultRecord(
            index: 7,
            recipient: "r",
            attempts: 2,
            kind: kind,
            status: .sent,
            maybeDup: maybeDup
        )
        return record.apply(verdict) ? record : nil
    }

    /// A plain object has a way of its own to be written. Texts that need an escape take the other one.
    @Test(arguments: RecipientKind.allCases, [false, true])
    func aPlainObjectHasTheBytesOfAnyOther(kind: RecipientKind, maybeDup: Bool) throws {
        for recipient in ["r", "", "tö", #"'a"b' in topics"#] {
            for messageID in ["projects/p/messages/1", "", "a\"b", "a\nb"] {
                let plain = ResultRecord(
                    index: 7,
                    recipient: recipient,
                    messageID: messageID,
                    attempts: 2,
                    kind: kind,
                    status: .sent,
                    maybeDup: maybeDup
                )
                // With failed members named, an object is not plain; without their list it has the same bytes.
                var other = plain
                other.failedMembers = []
                #expect(try text(plain) == text(other).replacingOccurrences(of: #","failed_tokens":[]"#, with: ""))
            }
        }
    }

    /// There is room for the longest numbers, kinds and texts.
    @Test(arguments: RecipientKind.allCases, [Int64.max, Int64.min])
    func aPlainObjectHasRoomForItsLongestNumbers(kind: RecipientKind, number: Int64) throws {
        for recipient in ["", String(repeating: "r", count: 1_024)] {
            for messageID in ["", "m", String(repeating: "m", count: 5_000)] {
                for maybeDup in [false, true] {
                    let record = ResultRecord(
                        index: number,
                        recipient: recipient,
                        messageID: messageID,
                        attempts: Int(number),
                        kind: kind,
                        status: .sent,
                        maybeDup: maybeDup
                    )
                    let flag = maybeDup ? #","maybe_dup":true"# : ""
                    let expected =
                        #"{"i":\#(number),"\#(kind.rawValue)":"\#(recipient)","status":"sent","#
                        + #""message_id":"\#(messageID)","attempts":\#(number)\#(flag)}"#
                    #expect(try text(record) == expected)
                }
            }
        }
    }

    /// Numbers are written as Swift writes them, whatever their length.
    @Test func numbersAreWrittenInDigits() {
        var numbers = [0, 9, 10, 99, 100, 12_345, Int.max, Int.min, -1, Int.max - 1]
        for digits in 0..<18 {
            let limit = (0..<digits).reduce(1) { limit, _ in limit * 10 }
            numbers += [limit, limit - 1, limit + 1]
        }
        for number in numbers {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: 20) { $0.put(decimal: number) }
            #expect(String(decoding: bytes, as: UTF8.self) == String(number))
        }
    }

    @Test func writesWhatTheContractShows() throws {
        #expect(
            try text(record(.sent(messageID: "projects/p/messages/1", canonical: nil)))
                == #"{"i":7,"token":"r","status":"sent","message_id":"projects/p/messages/1","attempts":2}"#
        )
        #expect(
            try text(record(.sent(messageID: "", canonical: "new"), maybeDup: true))
                == #"{"i":7,"token":"r","status":"sent","message_id":"","attempts":2,"maybe_dup":true,"#
                + #""canonical":"new","action":"replace"}"#
        )
        let failure = Failure(error: .unregistered, action: .remove, rawError: "a\"b", httpStatus: 404)
        #expect(
            try text(record(.failed(failure), kind: .fid))
                == #"{"i":7,"fid":"r","status":"failed","attempts":2,"error":"UNREGISTERED","raw_error":"a\"b","#
                + #""http_status":404,"action":"remove"}"#
        )
        #expect(
            try text(record(.sentPartly(messageID: "", failedTokens: ["x", "y"]), kind: .group))
                == #"{"i":7,"group":"r","status":"sent","message_id":"","attempts":2,"failed_tokens":["x","y"]}"#
        )
        #expect(
            try text(record(.unknown(failure, retryAfterMs: nil), kind: .topic))
                == #"{"i":7,"topic":"r","status":"unknown","attempts":2}"#
        )
    }

    @Test func aVerdictThatIsNotFinalHasNoRecord() {
        let failure = Failure(error: .unavailable, action: .none)
        for verdict in [Verdict.retry(Retry(failure: failure)), .refreshCredential(failure), .blockProject(failure)] {
            #expect(record(verdict) == nil)
        }
    }

    @Test func aResultIsRecordedAsItsPolicyAsks() {
        let plain = record(.sent(messageID: "m", canonical: nil))
        #expect(plain?.needsRecording(.all) == true)
        #expect(plain?.needsRecording(.failures) == false)
        #expect(plain?.needsRecording(.none) == false)
        let worthKnowing: [ResultRecord?] = [
            record(.sent(messageID: "m", canonical: nil), maybeDup: true),
            record(.sent(messageID: "m", canonical: "c")),
            record(.sentPartly(messageID: "m", failedTokens: ["x"]), kind: .group),
            record(.failed(Failure(error: .internalError, action: .none))),
            record(.unknown(Failure(error: .unspecified, action: .none), retryAfterMs: nil)),
        ]
        for kept in worthKnowing {
            #expect(kept?.needsRecording(.failures) == true)
            #expect(kept?.needsRecording(.none) == false)
        }
    }

    private func feedback(_ verdict: Verdict, kind: RecipientKind = .token) -> [RecordCall.Feedback]? {
        record(verdict, kind: kind)?.feedback
    }

    private func entry(
        _ action: String,
        kind: String = "token",
        replacement: String = "",
        error: String = ""
    ) -> RecordCall.Feedback {
        RecordCall.Feedback(
            index: 7,
            kind: kind,
            recipient: "r",
            action: action,
            replacement: replacement,
            error: error
        )
    }

    @Test func feedbackIsOfTokensAndFidsOnly() {
        let dead = Verdict.failed(Failure(error: .unregistered, action: .remove, httpStatus: 404))
        #expect(feedback(dead) == [entry("remove", error: "UNREGISTERED")])
        #expect(feedback(dead, kind: .fid) == [entry("remove", kind: "fid", error: "UNREGISTERED")])
        for kind in [RecipientKind.topic, .condition, .group] { #expect(feedback(dead, kind: kind) == []) }
        #expect(feedback(.sent(messageID: "m", canonical: "new")) == [entry("replace", replacement: "new")])
        #expect(feedback(.sent(messageID: "m", canonical: nil)) == [])
        #expect(feedback(.failed(Failure(error: .invalidArgument, action: .fixMessage))) == [])
    }

    @Test func aListingsResultHasItsTopics() throws {
        let listed = try #require(record(.listed(["a", "b~%"])))
        let json = #"{"i":7,"token":"r","status":"sent","message_id":"","attempts":2,"topics":["a","b~%"]}"#
        #expect(try text(listed) == json)
        let none = try #require(record(.listed([])))
        #expect(try text(none).contains(#""topics":[]}"#))
        #expect(listed.feedback.isEmpty)
    }

    @Test func aGroupOperationsResultHasKeyAndName() throws {
        var made = try #require(record(.managed(group: "K"), kind: .group))
        made.operation = .group(name: "n")
        #expect(
            try text(made) == #"{"i":7,"group":"K","status":"sent","group_name":"n","message_id":"","attempts":2}"#
        )
        #expect(made.needsRecording(.all) && !made.needsRecording(.failures) && !made.needsRecording(.none))
        #expect(made.feedback.isEmpty)
        let refused = Failure(error: .invalidArgument, action: .fixMessage, rawError: "exists", httpStatus: 400)
        var failed = try #require(record(.failed(refused), kind: .group))
        failed.operation = .group(name: "n")
        #expect(try text(failed).contains(#""status":"failed","group_name":"n","attempts":2,"error":"INVALID_ARG"#))
        #expect(failed.needsRecording(.failures))
    }
}
