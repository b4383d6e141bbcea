internal import FanfareModel

extension CodeTable {
    public static let rows: [CodeRow] = v1Rows + legacyRows + xmppRows + instanceIDRows + deviceGroupRows

    private static let soon = Disposition.retry(floorMs: shortFloorMs, scope: .recipient)

    private static func slow(_ scope: Retry.Scope) -> Disposition { .retry(floorMs: rateFloorMs, scope: scope) }

    /// A code is that of `FcmError`; answers without one go by their status. `NOT_FOUND` proves nothing here: without
    /// `FcmError` it may be a wrong project or URL, so it blocks the project and never removes a token.
    private static let v1Rows: [CodeRow] = [
        CodeRow(.v1, "UNREGISTERED", .unregistered, .remove),
        CodeRow(.v1, "ApnsError 410", .unregistered, .remove),
        CodeRow(.v1, "INVALID_ARGUMENT (recipient)", .invalidArgument, .remove),
        CodeRow(.v1, "ApnsError 400 BadDeviceToken", .invalidArgument, .remove),
        CodeRow(.v1, "ApnsError 400 DeviceTokenNotForTopic", .senderIDMismatch, .fixCredentials),
        CodeRow(.v1, "INVALID_ARGUMENT", .invalidArgument, .fixMessage),
        CodeRow(.v1, "HTTP 400", .invalidArgument, .fixMessage),
        CodeRow(.v1, "SENDER_ID_MISMATCH", .senderIDMismatch, .fixCredentials),
        CodeRow(.v1, "THIRD_PARTY_AUTH_ERROR", .thirdPartyAuthError, .fixCredentials),
        CodeRow(.v1, "APNS_AUTH_ERROR", .thirdPartyAuthError, .fixCredentials),
        CodeRow(.v1, "RATE_LIMIT_EXCEEDED", .quotaExceeded, .none, slow(.project)),
        CodeRow(.v1, "QUOTA_EXCEEDED", .quotaExceeded, .none, slow(.recipient)),
        CodeRow(.v1, "QUOTA_EXCEEDED (device)", .quotaExceeded, .none, slow(.device)),
        CodeRow(.v1, "QUOTA_EXCEEDED (topic)", .quotaExceeded, .none, slow(.topic)),
        CodeRow(.v1, "HTTP 429", .quotaExceeded, .none, slow(.recipient)),
        CodeRow(.v1, "UNAVAILABLE", .unavailable, .none, soon),
        CodeRow(.v1, "INTERNAL", .internalError, .none, soon),
        CodeRow(.v1, "HTTP 5xx", .unavailable, .none, soon),
        CodeRow(.v1, "HTTP 401", .unspecified, .fixCredentials, .refreshCredential),
        CodeRow(.v1, "HTTP 403", .unspecified, .fixCredentials, .blockProject),
        CodeRow(.v1, "HTTP 404", .unspecified, .fixCredentials, .blockProject),
    ]

    /// A server key cannot be refreshed, so a 401 blocks the project at once.
    private static let legacyRows: [CodeRow] = [
        CodeRow(.legacy, "NotRegistered", .unregistered, .remove),
        CodeRow(.legacy, "InvalidRegistration", .invalidArgument, .remove),
        CodeRow(.legacy, "MissingRegistration", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "MessageTooBig", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "InvalidDataKey", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "InvalidTtl", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "InvalidParameters", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "InvalidPackageName", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "HTTP 400", .invalidArgument, .fixMessage),
        CodeRow(.legacy, "MismatchSenderId", .senderIDMismatch, .fixCredentials),
        CodeRow(.legacy, "InvalidApnsCredential", .thirdPartyAuthError, .fixCredentials),
        CodeRow(.legacy, "DeviceMessageRateExceeded", .quotaExceeded, .none, slow(.device)),
        CodeRow(.legacy, "TopicsMessageRateExceeded", .quotaExceeded, .none, slow(.topic)),
        CodeRow(.legacy, "HTTP 429", .quotaExceeded, .none, slow(.recipient)),
        CodeRow(.legacy, "Unavailable", .unavailable, .none, soon),
        CodeRow(.legacy, "InternalServerError", .internalError, .none, soon),
        CodeRow(.legacy, "HTTP 5xx", .unavailable, .none, soon),
        CodeRow(.legacy, "HTTP 401", .unspecified, .fixCredentials, .blockProject),
        CodeRow(.legacy, "HTTP 403", .unspecified, .fixCredentials, .blockProject),
        CodeRow(.legacy, "HTTP 404", .unspecified, .fixCredentials, .blockProject),
        CodeRow(.legacy, "DeprecatedApi", .unspecified, .fixCredentials, .blockProject),
    ]

    private static let xmppRows: [CodeRow] = [
        CodeRow(.xmpp, "DEVICE_UNREGISTERED", .unregistered, .remove),
        CodeRow(.xmpp, "BAD_REGISTRATION", .invalidArgument, .remove),
        CodeRow(.xmpp, "INVALID_JSON", .invalidArgument, .fixMessage),
        CodeRow(.xmpp, "SENDER_ID_MISMATCH", .senderIDMismatch, .fixCredentials),
        CodeRow(.xmpp, "INVALID_APNS_CREDENTIAL", .thirdPartyAuthError, .fixCredentials),
        CodeRow(.xmpp, "DEVICE_MESSAGE_RATE_EXCEEDED", .quotaExceeded, .none, slow(.device)),
        CodeRow(.xmpp, "TOPICS_MESSAGE_RATE_EXCEEDED", .quotaExceeded, .none, slow(.topic)),
        CodeRow(.xmpp, "SERVICE_UNAVAILABLE", .unavailable, .none, soon),
        CodeRow(.xmpp, "INTERNAL_SERVER_ERROR", .internalError, .none, soon),
        CodeRow(.xmpp, "CONNECTION_DRAINING", .unavailable, .none, .resend),
    ]

    /// Per-token errors of topic management. There a token is named by itself, so its `NOT_FOUND` is proof.
    private static let instanceIDRows: [CodeRow] =
        [
            CodeRow(.instanceID, "NOT_FOUND", .unregistered, .remove),
            CodeRow(.instanceID, "INVALID_ARGUMENT", .invalidArgument, .remove),
            CodeRow(.instanceID, "TOO_MANY_TOPICS", .tooManyTopics, .none),
            CodeRow(.instanceID, "RESOURCE_EXHAUSTED", .quotaExceeded, .none, slow(.recipient)),
            CodeRow(.instanceID, "UNAVAILABLE", .unavailable, .none, soon),
            CodeRow(.instanceID, "DEADLINE_EXCEEDED", .unavailable, .none, soon),
            CodeRow(.instanceID, "INTERNAL", .internalError, .none, soon),
        ] + managementRows(.instanceID)

    /// The sentences are the bodies of a 400.
    private static let deviceGroupRows: [CodeRow] =
        [
            "notification_key already exists", "notification_key not found", "no valid registration ids",
            "notification_key_name doesn't match the group name of the notification_key",
        ].map { CodeRow(.deviceGroup, $0, .invalidArgument, .fixMessage) } + managementRows(.deviceGroup)

    /// Statuses of the older management interfaces, which concern the whole request. They block nothing: sends go to
    /// another API, which may be open.
    private static func managementRows(_ family: CodeFamily) -> [CodeRow] {
        [
            CodeRow(family, "HTTP 400", .invalidArgument, .fixMessage),
            CodeRow(family, "HTTP 401", .unspecified, .fixCredentials, .refreshCredential),
            CodeRow(family, "HTTP 403", .unspecified, .fixCredentials),
            CodeRow(family, "HTTP 404", .unspecified, .fixCredentials),
            CodeRow(family, "HTTP 429", .quotaExceeded, .none, slow(.recipient)),
            CodeRow(family, "HTTP 5xx", .unavailable, .none, soon),
        ]
    }
}
