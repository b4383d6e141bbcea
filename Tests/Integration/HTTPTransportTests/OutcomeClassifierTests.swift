import FanfareModel
import Testing

@testable import CurlTransport
@testable import HTTPLanes

@Suite struct OutcomeClassifierTests {
    struct Row: Sendable {
        let name: String
        let code: Int?
        let status: Int
        let handedOut: Int
        var refused = false
        var hasBody = true
        var received = 0
        var declared: Int?
        var overflowed = false
        let expected: OutcomeClassifier.Class
    }

    static let rows = [
        Row(
            name: "whole answer",
            code: 0,
            status: 200,
            handedOut: 9,
            received: 4,
            expected: .answered(isComplete: true)
        ),
        Row(
            name: "fits",
            code: 0,
            status: 503,
            handedOut: 9,
            received: 4,
            declared: 4,
            expected: .answered(isComplete: true)
        ),
        Row(
            name: "ok but short",
            code: 0,
            status: 200,
            handedOut: 9,
            received: 4,
            declared: 9,
            expected: .answered(isComplete: false)
        ),
        Row(
            name: "partial file",
            code: 18,
            status: 200,
            handedOut: 9,
            received: 4,
            expected: .answered(isComplete: false)
        ),
        Row(name: "stream reset", code: 92, status: 200, handedOut: 9, expected: .answered(isComplete: false)),
        Row(
            name: "too long",
            code: 23,
            status: 200,
            handedOut: 9,
            overflowed: true,
            expected: .answered(isComplete: false)
        ),
        Row(
            name: "answered before the body",
            code: 0,
            status: 401,
            handedOut: 0,
            expected: .answered(isComplete: true)
        ),
        Row(name: "ok without a status", code: 0, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "only informational", code: 18, status: 103, handedOut: 9, expected: .ambiguous),
        Row(name: "connect refused", code: 7, status: 0, handedOut: 0, expected: .unsent),
        Row(name: "certificate", code: 60, status: 0, handedOut: 0, expected: .unsent),
        Row(name: "held back", code: nil, status: 0, handedOut: 0, expected: .unsent),
        Row(name: "closed before the body", code: 56, status: 0, handedOut: 0, expected: .unsent),
        Row(name: "no answer", code: nil, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "closed", code: 18, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "reset", code: 56, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "resend vetoed", code: 65, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "refused", code: 65, status: 0, handedOut: 9, refused: true, expected: .refused),
        Row(name: "connect refused after bytes", code: 7, status: 0, handedOut: 9, expected: .ambiguous),
        Row(name: "GET, connect refused", code: 7, status: 0, handedOut: 0, hasBody: false, expected: .unsent),
        Row(name: "GET, reset", code: 56, status: 0, handedOut: 0, hasBody: false, expected: .ambiguous),
        Row(name: "GET, no answer", code: nil, status: 0, handedOut: 0, hasBody: false, expected: .ambiguous),
    ]

    @Test(arguments: rows) func factsDecideTheClass(row: Row) {
        var facts = TransferFacts(code: row.code, hasBody: row.hasBody, bytesRead: row.handedOut)
        facts.status = row.status
        facts.refused = row.refused
        facts.receivedBytes = row.received
        facts.declaredBytes = row.declared
        facts.overflowed = row.overflowed
        #expect(OutcomeClassifier.classify(facts) == row.expected, "\(row.name)")
    }

    @Test func reasonReplacesThePeersControlBytes() {
        let facts = TransferFacts(code: 56, errorText: "bad\r\n\u{1b}[2J")
        #expect("\(OutcomeClassifier.reason(facts))" == "libcurl 56: bad???[2J")
        #expect("\(OutcomeClassifier.reason(TransferFacts(code: 18)))" == "libcurl 18")
        #expect(OutcomeClassifier.reason(TransferFacts(code: nil, giveUp: "no answer in time")) == "no answer in time")
    }

    /// 19 and 10 are OpenSSL's results for a chain that ends in an unknown authority, and for a certificate that has expired.
    @Test(
        arguments: [
            (6, 0, 0, .name), (7, 0, 0, .connection), (28, 0, 0, .timeout), (35, 0, 1, .tls), (56, 200, 0, .connection),
            (56, 407, 0, .proxyLogin), (60, 0, 19, .authority), (60, 0, 20, .authority), (60, 0, 10, .certificate),
            (60, 0, 0, .certificate), (27, 0, 0, .other),
        ] as [(Int, Int, Int, Reason.Kind)]
    )
    func numbersDecideTheKindOfAFailure(row: (code: Int, proxy: Int, verified: Int, kind: Reason.Kind)) {
        var facts = TransferFacts(code: row.code, errorText: "407 (err 11) self-signed issuer")
        (facts.proxyStatus, facts.verifyResult) = (row.proxy, row.verified)
        let reason = OutcomeClassifier.reason(facts)
        #expect(reason.kind == row.kind)
        let remedy = row.kind.remedy.map { "; \($0)" } ?? ""
        #expect("\(reason)" == "libcurl \(row.code): 407 (err 11) self-signed issuer\(remedy)")
    }

    /// libcurl tries to repeat a request whose connection it gave up, and reports no error: no server refused it.
    @Test func preventedRepeatIsNoRefusal() {
        for code in [0, 7, 16, 18, 56, 65] {
            var facts = TransferFacts(code: code, bytesRead: 9)
            facts.wasKeptFromRepeating = true
            #expect(OutcomeClassifier.classify(facts) == .ambiguous)
            #expect(OutcomeClassifier.reason(facts) == "the connection ended without an answer")
            facts.refused = true
            #expect(OutcomeClassifier.classify(facts) == .refused)
            #expect(OutcomeClassifier.reason(facts) == "the server refused the stream")
        }
    }

    @Test func statusWithoutHeadersIsAnIncompleteAnswer() {
        var facts = TransferFacts(code: 0, bytesRead: 9)
        facts.status = 200
        facts.isOnlyStatus = true
        #expect(OutcomeClassifier.classify(facts) == .answered(isComplete: false))
    }

    @Test func codesDecideTheEnding() {
        func ending(_ code: Int, streamError: UInt32 = 0, refused: Bool = false) -> LaneState.Ending {
            var facts = TransferFacts(code: code)
            facts.streamError = streamError
            facts.refused = refused
            return LaneState.Ending(facts, isMultiplexed: true, isEarlier: false)
        }
        #expect(ending(0) == .answered(isMultiplexed: true))
        #expect(ending(23) == .answered(isMultiplexed: true))
        #expect(ending(65, refused: true) == .refused(isEarlier: false))
        #expect(ending(92, streamError: 8) == .streamFailed(isCalm: true))
        #expect(ending(92, streamError: 11) == .streamFailed(isCalm: false))
        for code in [7, 18, 28, 35, 52, 55, 56, 60, 65] { #expect(ending(code) == .connectionFailed(isEarlier: false)) }
    }

    /// A connection that was never made would fail the next time too; a request that the pool ended stays ended.
    @Test(arguments: [(56, true), (18, true), (7, false), (60, false), (28, false), (nil, false)] as [(Int?, Bool)])
    func unsentRequestMovesOnlyFromAConnectionThatEnded(row: (code: Int?, expected: Bool)) {
        #expect(OutcomeClassifier.mayMove(TransferFacts(code: row.code)) == row.expected)
    }
}
