import FCMWire
import FanfareModel
import Testing

/// The table as producers read it, written down a second time: a row that changes must change here too.
@Suite struct CodeTableResponseTests {
    static let expected: [(CodeFamily, [String], ErrorCode, RemedyAction)] = [
        (.v1, ["UNREGISTERED", "ApnsError 410"], .unregistered, .remove),
        (.legacy, ["NotRegistered"], .unregistered, .remove),
        (.xmpp, ["DEVICE_UNREGISTERED"], .unregistered, .remove),
        (.instanceID, ["NOT_FOUND"], .unregistered, .remove),
        (.v1, ["INVALID_ARGUMENT (recipient)", "ApnsError 400 BadDeviceToken"], .invalidArgument, .remove),
        (.legacy, ["InvalidRegistration"], .invalidArgument, .remove),
        (.xmpp, ["BAD_REGISTRATION"], .invalidArgument, .remove),
        (.instanceID, ["INVALID_ARGUMENT"], .invalidArgument, .remove),
        (.v1, ["INVALID_ARGUMENT", "HTTP 400"], .invalidArgument, .fixMessage),
        (
            .legacy,
            [
                "MissingRegistration", "MessageTooBig", "InvalidDataKey", "InvalidTtl", "InvalidParameters",
                "InvalidPackageName", "HTTP 400",
            ], .invalidArgument, .fixMessage
        ),
        (.xmpp, ["INVALID_JSON"], .invalidArgument, .fixMessage),
        (.v1, ["SENDER_ID_MISMATCH", "ApnsError 400 DeviceTokenNotForTopic"], .senderIDMismatch, .fixCredentials),
        (.legacy, ["MismatchSenderId"], .senderIDMismatch, .fixCredentials),
        (.xmpp, ["SENDER_ID_MISMATCH"], .senderIDMismatch, .fixCredentials),
        (.v1, ["THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"], .thirdPartyAuthError, .fixCredentials),
        (.legacy, ["InvalidApnsCredential"], .thirdPartyAuthError, .fixCredentials),
        (.xmpp, ["INVALID_APNS_CREDENTIAL"], .thirdPartyAuthError, .fixCredentials),
        (
            .v1,
            [
                "RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "QUOTA_EXCEEDED (device)", "QUOTA_EXCEEDED (topic)",
                "HTTP 429",
            ], .quotaExceeded, .none
        ),
        (
            .legacy, ["DeviceMessageRateExceeded", "TopicsMessageRateExceeded", "HTTP 429"], .quotaExceeded, .none
        ),
        (.xmpp, ["DEVICE_MESSAGE_RATE_EXCEEDED", "TOPICS_MESSAGE_RATE_EXCEEDED"], .quotaExceeded, .none),
        (.instanceID, ["RESOURCE_EXHAUSTED"], .quotaExceeded, .none),
        (.v1, ["UNAVAILABLE", "HTTP 5xx"], .unavailable, .none),
        (.legacy, ["Unavailable", "HTTP 5xx"], .unavailable, .none),
        (.xmpp, ["SERVICE_UNAVAILABLE", "CONNECTION_DRAINING"], .unavailable, .none),
        (.instanceID, ["UNAVAILABLE", "DEADLINE_EXCEEDED"], .unavailable, .none),
        (.v1, ["INTERNAL"], .internalError, .none),
        (.legacy, ["InternalServerError"], .internalError, .none),
        (.xmpp, ["INTERNAL_SERVER_ERROR"], .internalError, .none),
        (.instanceID, ["INTERNAL"], .internalError, .none),
        (.instanceID, ["TOO_MANY_TOPICS"], .tooManyTopics, .none),
        (.v1, ["HTTP 401", "HTTP 403", "HTTP 404"], .unspecified, .fixCredentials),
        (.legacy, ["HTTP 401", "HTTP 403", "HTTP 404", "DeprecatedApi"], .unspecified, .fixCredentials),
        (
            .deviceGroup,
            [
                "notification_key already exists", "notification_key not found", "no valid registration ids",
                "notification_key_name doesn't match the group name of the notification_key", "HTTP 400",
            ], .invalidArgument, .fixMessage
        ),
        (.deviceGroup, ["HTTP 401", "HTTP 403", "HTTP 404"], .unspecified, .fixCredentials),
        (.deviceGroup, ["HTTP 429"], .quotaExceeded, .none),
        (.deviceGroup, ["HTTP 5xx"], .unavailable, .none),
        (.instanceID, ["HTTP 400"], .invalidArgument, .fixMessage),
        (.instanceID, ["HTTP 401", "HTTP 403", "HTTP 404"], .unspecified, .fixCredentials),
        (.instanceID, ["HTTP 429"], .quotaExceeded, .none),
        (.instanceID, ["HTTP 5xx"], .unavailable, .none),
    ]

    @Test func everyRowIsExpectedAndEveryExpectationIsARow() throws {
        var seen = 0
        for (family, codes, error, action) in Self.expected {
            for code in codes {
                let row = try #require(CodeTable.row(family, code), "\(family) \(code)")
                #expect(row.error == error && row.action == action, "\(family) \(code)")
                seen += 1
            }
        }
        #expect(seen == CodeTable.rows.count)
    }

    /// What removes a token must be final, and what is tried again must end without blaming anyone.
    @Test func dispositionsFitTheirRemedies() {
        for row in CodeTable.rows {
            switch row.disposition {
            case .final:
                #expect(row.error == .tooManyTopics || row.action != .none, "\(row.code)")
            case .retry(let floorMs, _):
                #expect(row.action == .none, "\(row.code)")
                #expect(floorMs == (row.error == .quotaExceeded ? 60_000 : 10_000), "\(row.code)")
            case .resend:
                #expect(row.action == .none, "\(row.code)")
            case .refreshCredential, .blockProject:
                #expect(row.action == .fixCredentials, "\(row.code)")
            }
        }
    }

    @Test func codesAreUniqueWithinAProtocolAndExact() {
        let keys = CodeTable.rows.map { "\($0.family) \($0.code)" }
        #expect(Set(keys).count == keys.count)
        #expect(CodeTable.row(.legacy, "UNREGISTERED") == nil)
        #expect(CodeTable.row(.v1, "unregistered") == nil)
        #expect(CodeTable.row(.v1, "NOT_FOUND") == nil)
    }
}
