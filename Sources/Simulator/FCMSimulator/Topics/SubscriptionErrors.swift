/// The errors of topic subscriptions over HTTP v1.
extension APIError {
    static let subscriptionExists = APIError(
        code: 409,
        status: "ALREADY_EXISTS",
        message: "Requested entity already exists"
    )

    static let subscriptionNotFound = APIError(
        code: 404,
        status: "NOT_FOUND",
        message: "Requested entity was not found."
    )

    /// The wording is ours, since the live one is not known; the reason is the Instance ID API's.
    static let tooManyTopics = APIError(
        code: 400,
        status: "FAILED_PRECONDITION",
        message: "The registration has too many topic subscriptions.",
        info: Info(reason: "TOO_MANY_TOPICS", domain: "fcm.googleapis.com")
    )

    static func subscriptionQuota(senderID: String, limit: Int) -> APIError {
        APIError(
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            message: "Quota exceeded for quota metric 'Topic subscription requests' and limit 'Topic subscription "
                + "requests per second' of service 'fcm.googleapis.com' for consumer 'project_number:\(senderID)'.",
            info: Info(
                reason: "RATE_LIMIT_EXCEEDED",
                metadata: [
                    "consumer": "projects/" + senderID, "service": "fcm.googleapis.com",
                    "quota_metric": "fcm.googleapis.com/topic_subscription_requests",
                    "quota_limit_value": String(limit),
                ]
            )
        )
    }
}
