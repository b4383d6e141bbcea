import FCMWire
import FanfareModel
import Testing

/// Every error of the XMPP reference (table 4) and of the legacy HTTP reference (table 9), as each transport says it:
/// whatever the wire calls it, the producer reads the same code and the same action.
@Suite struct VocabularyTests {
    enum Wire: CaseIterable { case v1, legacy, text, xmpp, instanceID }

    /// What becomes of the recipient.
    enum Step: Equatable, Sendable {
        case final
        case retry(Retry.Scope)
        /// Nothing more is sent for the project, after a new access token where there can be one.
        case project
        /// Sent again at once on another connection; no attempt is counted.
        case resend
    }

    struct Condition: Sendable {
        var name: String
        var error: ErrorCode
        var action: RemedyAction
        var step: Step
        /// How each transport says it; one that cannot is left out.
        var said: [(Wire, RequestOutcome)]
        var kind = RecipientKind.token
    }

    // MARK: how a code is written

    static func v1(_ status: Int, _ canonical: String, _ details: String...) -> (Wire, RequestOutcome) {
        (.v1, answer(status, V1Body.envelope(status, canonical, "m", details.joined(separator: ","))))
    }

    static func fcm(_ status: Int, _ canonical: String, _ code: String, _ more: String...) -> (Wire, RequestOutcome) {
        let details = ([V1Body.fcmError(code)] + more).joined(separator: ",")
        return (.v1, answer(status, V1Body.envelope(status, canonical, "m", details)))
    }

    static func legacy(_ code: String) -> (Wire, RequestOutcome) {
        (.legacy, answer(200, #"{"multicast_id":1,"success":0,"failure":1,"results":[{"error":"\#(code)"}]}"#))
    }

    static func text(_ code: String) -> (Wire, RequestOutcome) {
        (.text, answer(200, "Error=\(code)\n", type: "text/plain; charset=UTF-8"))
    }

    /// Both forms of legacy HTTP have the same words.
    static func both(_ code: String) -> [(Wire, RequestOutcome)] { [legacy(code), text(code)] }

    static func nack(_ code: String) -> (Wire, RequestOutcome) {
        let json = #"{"message_id":"m","from":"T","message_type":"nack","error":"\#(code)"}"#
        return (.xmpp, .stanza(Array(json.utf8)))
    }

    static func instanceID(_ code: String) -> (Wire, RequestOutcome) {
        (.instanceID, answer(200, #"{"results":[{"error":"\#(code)"}]}"#))
    }

    static func status(_ status: Int, _ wires: [Wire] = [.v1, .legacy, .text, .instanceID]) -> [(Wire, RequestOutcome)]
    {
        wires.map { ($0, answer(status, V1Body.envelope(status, "REFUSED"))) }
    }

    private static let sends: [Wire] = [.v1, .legacy, .text]

    // MARK: the table

    static let conditions: [Condition] = [
        Condition(
            name: "no token in the request",
            error: .invalidArgument,
            action: .fixMessage,
            step: .final,
            said: both("MissingRegistration") + [
                nack("INVALID_JSON"), fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", V1Body.badRequest("message")),
            ]
        ),
        Condition(
            name: "a token that is none",
            error: .invalidArgument,
            action: .remove,
            step: .final,
            said: both("InvalidRegistration") + [
                nack("BAD_REGISTRATION"), instanceID("INVALID_ARGUMENT"),
                fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", V1Body.badRequest("message.token")),
            ]
        ),
        Condition(
            name: "a token that is no longer registered",
            error: .unregistered,
            action: .remove,
            step: .final,
            said: both("NotRegistered") + [
                nack("DEVICE_UNREGISTERED"), instanceID("NOT_FOUND"), fcm(404, "NOT_FOUND", "UNREGISTERED"),
            ]
        ),
        Condition(
            name: "a dead Apple token",
            error: .unregistered,
            action: .remove,
            step: .final,
            said: both("NotRegistered") + [
                nack("DEVICE_UNREGISTERED"), fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", V1Body.apns410),
            ]
        ),
        Condition(
            name: "another package than the message is restricted to",
            error: .invalidArgument,
            action: .fixMessage,
            step: .final,
            said: both("InvalidPackageName") + [fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")]
        ),
        Condition(
            name: "credentials that are refused",
            error: .unspecified,
            action: .fixCredentials,
            step: .project,
            said: status(401)
        ),
        Condition(
            name: "a project that may not",
            error: .unspecified,
            action: .fixCredentials,
            step: .project,
            said: status(403, sends)
        ),
        Condition(
            name: "a wrong address",
            error: .unspecified,
            action: .fixCredentials,
            step: .project,
            said: status(404, sends)
        ),
        Condition(
            name: "an API of operations that is not open to the project",
            error: .unspecified,
            action: .fixCredentials,
            step: .final,
            said: status(403, [.instanceID]) + status(404, [.instanceID])
        ),
        Condition(
            name: "an interface that was switched off",
            error: .unspecified,
            action: .fixCredentials,
            step: .project,
            said: both("DeprecatedApi")
        ),
        Condition(
            name: "a token of another sender",
            error: .senderIDMismatch,
            action: .fixCredentials,
            step: .final,
            said: both("MismatchSenderId") + [
                nack("SENDER_ID_MISMATCH"), fcm(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
            ]
        ),
        Condition(
            name: "a request that does not parse",
            error: .invalidArgument,
            action: .fixMessage,
            step: .final,
            said: status(400) + [nack("INVALID_JSON"), v1(400, "INVALID_ARGUMENT", V1Body.badRequest("message.data"))]
        ),
        Condition(
            name: "wrong parameters, size, data key or time to live",
            error: .invalidArgument,
            action: .fixMessage,
            step: .final,
            said: both("InvalidParameters") + both("MessageTooBig") + both("InvalidDataKey") + both("InvalidTtl") + [
                nack("INVALID_JSON"), fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
            ]
        ),
        Condition(
            name: "a server that is not available",
            error: .unavailable,
            action: .none,
            step: .retry(.recipient),
            said: both("Unavailable") + status(503) + [
                nack("SERVICE_UNAVAILABLE"), instanceID("UNAVAILABLE"), instanceID("DEADLINE_EXCEEDED"),
                fcm(503, "UNAVAILABLE", "UNAVAILABLE"),
            ]
        ),
        Condition(
            name: "a fault of the server",
            error: .internalError,
            action: .none,
            step: .retry(.recipient),
            said: both("InternalServerError") + [
                nack("INTERNAL_SERVER_ERROR"), instanceID("INTERNAL"), fcm(500, "INTERNAL", "INTERNAL"),
            ]
        ),
        Condition(
            name: "too many messages to one device",
            error: .quotaExceeded,
            action: .none,
            step: .retry(.device),
            said: both("DeviceMessageRateExceeded") + [
                nack("DEVICE_MESSAGE_RATE_EXCEEDED"),
                fcm(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", V1Body.quota),
            ]
        ),
        Condition(
            name: "too many messages to one topic",
            error: .quotaExceeded,
            action: .none,
            step: .retry(.topic),
            said: [
                (.legacy, answer(200, #"{"error":"TopicsMessageRateExceeded"}"#)),
                nack("TOPICS_MESSAGE_RATE_EXCEEDED"), fcm(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
            ],
            kind: .topic
        ),
        Condition(
            name: "too many requests, of which no more is said",
            error: .quotaExceeded,
            action: .none,
            step: .retry(.recipient),
            said: status(429) + [instanceID("RESOURCE_EXHAUSTED")]
        ),
        Condition(
            name: "no credentials for Apple",
            error: .thirdPartyAuthError,
            action: .fixCredentials,
            step: .final,
            said: both("InvalidApnsCredential") + [
                nack("INVALID_APNS_CREDENTIAL"), fcm(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
            ]
        ),
        Condition(
            name: "too many topics for one app",
            error: .tooManyTopics,
            action: .none,
            step: .final,
            said: [instanceID("TOO_MANY_TOPICS")]
        ),
        Condition(
            name: "a connection that is being closed",
            error: .unavailable,
            action: .none,
            step: .resend,
            said: [nack("CONNECTION_DRAINING")]
        ),
        Condition(
            name: "a code that nobody knows",
            error: .unspecified,
            action: .none,
            step: .final,
            said: both("Novelty") + [
                nack("NOVELTY"), instanceID("NOVELTY"), fcm(409, "ABORTED", "NOVELTY"),
            ]
        ),
    ]

    static func verdict(_ wire: Wire, _ outcome: RequestOutcome, _ kind: RecipientKind) throws -> Verdict {
        switch wire {
        case .v1: return V1Response.verdict(outcome, kind: kind, nowMs: responseNow, atMostOnce: false)
        case .legacy:
            let all = LegacyResponse.verdicts(
                outcome,
                recipients: ["T"],
                kind: kind,
                nowMs: responseNow,
                atMostOnce: false
            )
            return try #require(all.first)
        case .text:
            return PlainTextResponse.verdict(outcome, recipient: "T", nowMs: responseNow, atMostOnce: false)
        case .xmpp:
            return XMPPResponse.verdict(outcome, kind: kind, recipient: "T", nowMs: responseNow, atMostOnce: false)
        case .instanceID:
            return try #require(TopicBatch.verdicts(outcome, tokens: ["T"], nowMs: responseNow).first)
        }
    }

    static func read(_ verdict: Verdict) -> (Failure, Step)? {
        switch verdict {
        case .failed(let failure): return (failure, .final)
        case .retry(let retry): return (retry.failure, retry.countsAttempt ? .retry(retry.scope) : .resend)
        case .refreshCredential(let failure), .blockProject(let failure): return (failure, .project)
        case .sent, .sentPartly, .managed, .listed, .unknown: return nil
        }
    }

    @Test(arguments: conditions)
    func everyTransportSaysTheSame(condition: Condition) throws {
        #expect(!condition.said.isEmpty)
        for (wire, outcome) in condition.said {
            let verdict = try Self.verdict(wire, outcome, condition.kind)
            let (failure, step) = try #require(Self.read(verdict), "\(condition.name), \(wire): \(verdict)")
            #expect(failure.error == condition.error, "\(condition.name), \(wire)")
            #expect(failure.action == condition.action, "\(condition.name), \(wire)")
            #expect(step == condition.step, "\(condition.name), \(wire)")
        }
    }

    /// The codes as the references print them: none may be missing from the table above.
    @Test(arguments: [
        (
            Wire.legacy,
            [
                "MissingRegistration", "InvalidRegistration", "NotRegistered", "InvalidPackageName",
                "MismatchSenderId", "InvalidParameters", "MessageTooBig", "InvalidDataKey", "InvalidTtl",
                "Unavailable", "InternalServerError", "DeviceMessageRateExceeded", "TopicsMessageRateExceeded",
                "InvalidApnsCredential",
            ]
        ),
        (
            .xmpp,
            [
                "INVALID_JSON", "BAD_REGISTRATION", "DEVICE_UNREGISTERED", "SENDER_ID_MISMATCH",
                "SERVICE_UNAVAILABLE", "INTERNAL_SERVER_ERROR", "DEVICE_MESSAGE_RATE_EXCEEDED",
                "TOPICS_MESSAGE_RATE_EXCEEDED", "CONNECTION_DRAINING", "INVALID_APNS_CREDENTIAL",
            ]
        ),
    ])
    func everyPrintedCodeIsInTheTable(wire: Wire, codes: [String]) throws {
        let said = try Set(
            Self.conditions.flatMap { condition in
                try condition.said.filter { $0.0 == wire }.compactMap {
                    Self.read(try Self.verdict($0, $1, condition.kind))?.0.rawError
                }
            }
        )
        for code in codes { #expect(said.contains(code), "\(code)") }
    }

    /// `BAD_ACK` is the one code of table 4 that speaks of no message.
    @Test func badAckConcernsNoRecipient() throws {
        let (wire, outcome) = Self.nack("BAD_ACK")
        guard case .retry(let retry) = try Self.verdict(wire, outcome, .token) else {
            Issue.record("the message's fate is unknown")
            return
        }
        #expect(retry.cause == .unanswered)
    }
}

extension VocabularyTests.Condition: CustomTestStringConvertible {
    var testDescription: String { name }
}
