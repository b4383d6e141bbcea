/// The errors of HTTP v1, in the live service's words where they were captured.
extension APIError {
    static func invalid(_ message: String, field: String? = nil, fcmError: Bool = true) -> APIError {
        APIError(
            code: 400,
            status: "INVALID_ARGUMENT",
            message: message,
            fcmError: fcmError ? "INVALID_ARGUMENT" : nil,
            violations: field.map { [Violation(field: $0, description: message)] } ?? []
        )
    }

    /// A body that breaks the request's schema: a BadRequest without an FcmError.
    static func schema(_ violations: [Violation]) -> APIError {
        APIError(
            code: 400,
            status: "INVALID_ARGUMENT",
            message: violations.map(\.description).joined(separator: "\n"),
            violations: violations
        )
    }

    static func invalidRecipient(field: String) -> APIError {
        APIError(
            code: 400,
            status: "INVALID_ARGUMENT",
            message: "The registration token is not a valid FCM registration token",
            fcmError: "INVALID_ARGUMENT",
            violations: [Violation(field: field, description: "Invalid registration token")]
        )
    }

    static let unregistered = APIError(
        code: 404,
        status: "NOT_FOUND",
        message: "Requested entity was not found.",
        fcmError: "UNREGISTERED"
    )

    static let appleUnregistered = APIError(
        code: 404,
        status: "NOT_FOUND",
        message: "Requested entity was not found.",
        fcmError: "UNREGISTERED",
        apple: Apple(statusCode: 410, reason: "Unregistered")
    )

    static let appleDisabled = APIError(
        code: 400,
        status: "INVALID_ARGUMENT",
        message: "APNs device token is disabled.",
        fcmError: "INVALID_ARGUMENT",
        apple: Apple(statusCode: 410, reason: "Unregistered")
    )

    static let senderMismatch = APIError(
        code: 403,
        status: "PERMISSION_DENIED",
        message: "SenderId mismatch",
        fcmError: "SENDER_ID_MISMATCH"
    )

    static let thirdPartyAuth = APIError(
        code: 401,
        status: "UNAUTHENTICATED",
        message: "Auth error from APNS or Web Push Service",
        fcmError: "THIRD_PARTY_AUTH_ERROR",
        apple: Apple(statusCode: 403, reason: "InvalidProviderToken")
    )

    static let unavailable = APIError(
        code: 503,
        status: "UNAVAILABLE",
        message: "The service is currently unavailable.",
        fcmError: "UNAVAILABLE"
    )

    static let internalError = APIError(
        code: 500,
        status: "INTERNAL",
        message: "Internal error encountered.",
        fcmError: "INTERNAL"
    )

    static let quotaExceeded = APIError(
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "Quota exceeded.",
        fcmError: "QUOTA_EXCEEDED"
    )

    static let topicQuota = APIError(
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "Topic quota exceeded.",
        fcmError: "QUOTA_EXCEEDED"
    )

    static func deviceRate(token: String) -> APIError {
        APIError(
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            message: "Device message rate exceeded.",
            fcmError: "QUOTA_EXCEEDED",
            quotaFailure: Violation(field: "token:" + token, description: "Device message rate exceeded.")
        )
    }

    /// The project's own quota. It has neither FcmError nor QuotaFailure: that is how a client tells it from the
    /// others.
    static func projectQuota(senderID: String, limit: Int) -> APIError {
        APIError(
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            message: "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of service "
                + "'fcm.googleapis.com' for consumer 'project_number:\(senderID)'.",
            info: Info(
                reason: "RATE_LIMIT_EXCEEDED",
                metadata: [
                    "consumer": "projects/" + senderID, "service": "fcm.googleapis.com",
                    "quota_metric": "fcm.googleapis.com/send_requests", "quota_limit": "SendsPerMinutePerProject",
                    "quota_unit": "1/min/{project}", "quota_location": "global", "quota_limit_value": String(limit),
                ]
            ),
            hasEmptyHelp: true
        )
    }

    static let projectNotFound = APIError(code: 404, status: "NOT_FOUND", message: "Requested entity was not found.")

    static let missingCredential = APIError(
        code: 401,
        status: "UNAUTHENTICATED",
        message:
            "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or "
            + "other valid authentication credential. "
            + "See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        info: Info(reason: "CREDENTIALS_MISSING", metadata: ["service": "fcm.googleapis.com"])
    )

    /// - Parameter reason: `ACCESS_TOKEN_EXPIRED`, or `ACCESS_TOKEN_TYPE_UNSUPPORTED` for an unknown token.
    static func badCredential(reason: String) -> APIError {
        APIError(
            code: 401,
            status: "UNAUTHENTICATED",
            message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
                + "other valid authentication credential. "
                + "See https://developers.google.com/identity/sign-in/web/devconsole-project.",
            info: Info(reason: reason, metadata: ["service": "fcm.googleapis.com"])
        )
    }

    static func permissionDenied(project: String) -> APIError {
        let resource = "//cloudresourcemanager.googleapis.com/projects/" + project
        return APIError(
            code: 403,
            status: "PERMISSION_DENIED",
            message: "Permission 'cloudmessaging.messages.create' denied on resource '\(resource)' "
                + "(or it may not exist).",
            info: Info(
                reason: "IAM_PERMISSION_DENIED",
                domain: "cloudresourcemanager.googleapis.com",
                metadata: ["permission": "cloudmessaging.messages.create", "resource": "projects/" + project]
            )
        )
    }

    static let insufficientScope = APIError(
        code: 403,
        status: "PERMISSION_DENIED",
        message: "Request had insufficient authentication scopes.",
        info: Info(reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", metadata: ["service": "fcm.googleapis.com"])
    )
}
