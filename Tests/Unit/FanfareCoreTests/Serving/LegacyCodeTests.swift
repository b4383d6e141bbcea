import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct LegacyCodeTests {
    /// Codes for which clients send to a token again, or delete it.
    private static let repeated: Set<LegacyCode> = [.unavailable, .internalServerError]
    private static let deleted: Set<LegacyCode> = [
        .notRegistered, .invalidRegistration, .mismatchSenderID, .missingRegistration, .invalidPackageName,
    ]

    @Test(arguments: [
        (ErrorCode.unregistered, "UNREGISTERED", "NotRegistered"),
        (.invalidArgument, "INVALID_ARGUMENT: message.android.ttl", "InvalidParameters"),
        (.invalidArgument, "INVALID_ARGUMENT", "InvalidParameters"), (.invalidArgument, "", "InvalidParameters"),
        (.invalidArgument, "MessageTooBig", "MessageTooBig"), (.invalidArgument, "InvalidTtl", "InvalidTtl"),
        (.invalidArgument, "InvalidDataKey", "InvalidDataKey"),
        (.invalidArgument, "InvalidPackageName", "InvalidPackageName"),
        (.invalidArgument, "MissingRegistration", "InvalidParameters"),
        (.invalidArgument, "INVALID_JSON", "InvalidParameters"),
        (.senderIDMismatch, "SENDER_ID_MISMATCH", "MismatchSenderId"),
        (.thirdPartyAuthError, "THIRD_PARTY_AUTH_ERROR", "InvalidApnsCredential"),
        (.quotaExceeded, "QUOTA_EXCEEDED", "DeviceMessageRateExceeded"), (.unavailable, "UNAVAILABLE", "Unavailable"),
        (.internalError, "INTERNAL", "InternalServerError"), (.transport, "connection refused", "Unavailable"),
        (.unspecified, "HTTP 403, text/html", "UnspecifiedError"),
    ])
    func failedResultHasTheCodeOfItsError(error: ErrorCode, raw: String, code: String) {
        #expect(LegacyCode(LegacySample.failed(error, raw))?.rawValue == code)
    }

    @Test func everyErrorHasACode() {
        for error in ErrorCode.allCases { #expect(LegacyCode(LegacySample.failed(error)) != nil, "\(error)") }
    }

    @Test func onlyATokenIsBlamed() {
        let raw = "INVALID_ARGUMENT: BadDeviceToken"
        for kind in [RecipientKind.token, .fid] {
            let result = LegacySample.failed(.invalidArgument, raw, kind: kind, action: .remove)
            #expect(LegacyCode(result) == .invalidRegistration)
        }
        for kind in [RecipientKind.topic, .condition, .group] {
            let result = LegacySample.failed(.invalidArgument, raw, kind: kind, action: .remove)
            #expect(LegacyCode(result) == .invalidParameters)
        }
        #expect(LegacyCode(LegacySample.failed(.invalidArgument, raw, action: .fixMessage)) == .invalidParameters)
        for kind in [RecipientKind.topic, .condition] {
            #expect(LegacyCode(LegacySample.failed(.quotaExceeded, kind: kind)) == .topicsMessageRateExceeded)
        }
    }

    @Test func errorWithoutAKnownWordIsUnspecified() {
        var result = LegacySample.failed(.internalError)
        for error in [nil, "OF_A_LATER_VERSION"] {
            result.error = error
            #expect(LegacyCode(result) == .unspecifiedError)
        }
    }

    /// The message may have reached the device, or must not reach it any more.
    @Test(arguments: [
        (ResultStatus.unknown, "DeadlineExceeded"), (.expired, "DeadlineExceeded"), (.cancelled, "Aborted"),
    ])
    func endWithoutAnErrorHasACodeThatNoClientActsOn(status: ResultStatus, expected: String) throws {
        var result = LegacySample.sent(nil)
        result.status = status
        let code = try #require(LegacyCode(result))
        #expect(code.rawValue == expected)
        #expect(!Self.repeated.contains(code))
        #expect(!Self.deleted.contains(code))
    }

    @Test func sentResultHasNoCode() { #expect(LegacyCode(LegacySample.sent("projects/p/messages/1")) == nil) }
}
