/// The errors of HTTP v1, in the live service's words where they were captured.
extension APIError {
    static func invalid(_ message: String, field: String? = nil, fcmError: Bool = true) -> APIError {
        var error = APIError(.invalidArgument, message, fcmError: fcmError ? "INVALID_ARGUMENT" : nil)
        error.violations = field.map { [Violation(field: $0, description: message)] } ?? []
        return error
    }

    /// A body that breaks the request's schema: a BadRequest without an FcmError.
    static func schema(_ violations: [Violation]) -> APIError {
        var error = APIError(.invalidArgument, violations.map(\.description).joined(separator: "\n"))
        error.violations = violations
        return error
    }

    static func schema(_ description: String, field: String = "") -> APIError {
        schema([Violation(field: field, description: description)])
    }

    static func invalidRecipient(field: String) -> APIError {
        var error = invalid("The registration token is not a valid FCM registration token")
        error.violations = [Violation(field: field, description: "Invalid registration token")]
        return error
    }

    static let unregistered = APIError(.notFound, "Requested entity was not found.", fcmError: "UNREGISTERED")

    static let appleUnregistered = APIError(
        .notFound,
        "Requested entity was not found.",
        fcmError: "UNREGISTERED",
        apple: Apple(statusCode: 410, reason: "Unregistered")
    )

    static let appleDisabled = APIError(
        .invalidArgument,
        "APNs device token is disabled.",
        fcmError: "INVALID_ARGUMENT",
        apple: Apple(statusCode: 410, reason: "Unregistered")
    )

    static let senderMismatch = APIError(.permissionDenied, "SenderId mismatch", fcmError: "SENDER_ID_MISMATCH")

    static let thirdPartyAuth = APIError(
        .unauthenticated,
        "Auth error from APNS or Web Push Service",
        fcmError: "THIRD_PARTY_AUTH_ERROR",
        apple: Apple(statusCode: 403, reason: "InvalidProviderToken")
    )

    static let unavailable = APIError(
        .unavailable,
        "The service is currently unavailable.",
        fcmError: "UNAVAILABLE"
    )

    static let internalError = APIError(.internal, "Internal error encountered.", fcmError: "INTERNAL")

    static let quotaExceeded = APIError(.resourceExhausted, "Quota exceeded.", fcmError: "QUOTA_EXCEEDED")

    static let topicQuota = APIError(.resourceExhausted, "Topic quota exceeded.", fcmError: "QUOTA_EXCEEDED")

    static func deviceRate(token: String) -> APIError {
        var error = APIError(.resourceExhausted, "Device message rate exceeded.", fcmError: "QUOTA_EXCEEDED")
        error.quotaFailure = Violation(field: "token:" + token, description: error.message)
        return error
    }

    /// The project's own quota. Unlike the other quotas it has neither FcmError nor QuotaFailure.
    static func projectQuota(senderID: String, limit: Int) -> APIError {
        var error = quota("Send requests", per: "minute", senderID: senderID, limit: limit)
        error.info?.metadata.merge(
            [
                "quota_limit": "SendsPerMinutePerProject", "quota_unit": "1/min/{project}",
                "quota_location": "global",
            ],
            uniquingKeysWith: { $1 }
        )
        error.hasEmptyHelp = true
        return error
    }

    /// - Parameter metric: the quota's name, whose small letters with underscores are its id.
    static func quota(_ metric: String, per unit: String, senderID: String, limit: Int) -> APIError {
        let id = metric.lowercased().split(separator: " ").joined(separator: "_")
        return APIError(
            .resourceExhausted,
            "Quota exceeded for quota metric '\(metric)' and limit '\(metric) per \(unit)' of service "
                + "'fcm.googleapis.com' for consumer 'project_number:\(senderID)'.",
            info: Info(
                reason: "RATE_LIMIT_EXCEEDED",
                metadata: [
                    "consumer": "projects/" + senderID, "service": "fcm.googleapis.com",
                    "quota_metric": "fcm.googleapis.com/" + id, "quota_limit_value": String(limit),
                ]
            )
        )
    }

    static let projectNotFound = APIError(.notFound, "Requested entity was not found.")

    private static let expectedCredential =
        " Expected OAuth 2 access token, login cookie or other valid authentication credential. "
        + "See https://developers.google.com/identity/sign-in/web/devconsole-project."

    static let missingCredential = APIError(
        .unauthenticated,
        "Request is missing required authentication credential." + expectedCredential,
        info: Info(reason: "CREDENTIALS_MISSING")
    )

    /// - Parameter reason: `ACCESS_TOKEN_EXPIRED`, or `ACCESS_TOKEN_TYPE_UNSUPPORTED` for an unknown token.
    static func badCredential(reason: String) -> APIError {
        let message = "Request had invalid authentication credentials." + expectedCredential
        return APIError(.unauthenticated, message, info: Info(reason: reason))
    }

    static func permissionDenied(project: String) -> APIError {
        let permission = "cloudmessaging.messages.create"
        let domain = "cloudresourcemanager.googleapis.com"
        return APIError(
            .permissionDenied,
            "Permission '\(permission)' denied on resource '//\(domain)/projects/\(project)' (or it may not exist).",
            info: Info(
                reason: "IAM_PERMISSION_DENIED",
                domain: domain,
                metadata: ["permission": permission, "resource": "projects/" + project]
            )
        )
    }

    static let insufficientScope = APIError(
        .permissionDenied,
        "Request had insufficient authentication scopes.",
        info: Info(reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    )
}
