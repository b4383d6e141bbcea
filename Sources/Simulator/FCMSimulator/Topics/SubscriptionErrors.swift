/// The errors of topic subscriptions over HTTP v1.
extension APIError {
    static let subscriptionExists = APIError(.alreadyExists, "Requested entity already exists")

    static let subscriptionNotFound = APIError(.notFound, "Requested entity was not found.")

    /// The wording is ours, since the live one is not known; the reason is the Instance ID API's.
    static let tooManyTopics = APIError(
        .failedPrecondition,
        "The registration has too many topic subscriptions.",
        info: Info(reason: "TOO_MANY_TOPICS", domain: "fcm.googleapis.com", metadata: [:])
    )

    static func subscriptionQuota(senderID: String) -> APIError {
        quota("Topic subscription requests", per: "second", senderID: senderID, limit: Topics.operationsPerSecond)
    }
}

/// What a registration token's failure is in the words of the Instance ID API.
extension DeviceFailure {
    /// The error of a token in a batch.
    var topicWord: String {
        switch self {
        case .invalid, .package, .urgentAppleData: return "INVALID_ARGUMENT"
        case .unregistered, .appleUnregistered, .appleDisabled: return "NOT_FOUND"
        case .mismatch, .auth: return "PERMISSION_DENIED"
        case .retryable(.unavailable): return "DEADLINE_EXCEEDED"
        case .retryable(.internalError): return "INTERNAL"
        case .retryable(.quota), .retryable(.deviceRate), .tooOften: return "RESOURCE_EXHAUSTED"
        }
    }

    /// The answer to a question about one token.
    var infoError: TopicError {
        switch topicWord {
        case "INVALID_ARGUMENT": return TopicError(status: 400, word: "InvalidToken")
        case "NOT_FOUND": return TopicError(status: 404, word: "No information found about this instance id.")
        case "PERMISSION_DENIED": return .forbidden
        case "RESOURCE_EXHAUSTED": return .rate
        default: return TopicError(status: 500, word: "INTERNAL")
        }
    }
}
