internal import FanfareCore
internal import FanfareModel

/// Addresses built from a fixed origin and validated segments, never from anything a job says.
enum FCMEndpoint {
    static func sendURL(origin: String, project: String, transport: Transport, credentialProject: String?) -> String {
        switch transport {
        case .v1: return url(origin: origin, path: "/v1/projects/\(credentialProject ?? project)/messages:send")
        case .legacy, .xmpp: return url(origin: origin, path: "/fcm/send")
        }
    }

    /// - Parameter path: with its query, escaped.
    static func url(origin: String, path: String) -> String {
        (origin.hasSuffix("/") ? String(origin.dropLast()) : origin) + path
    }
}

/// What a recipient read from an audience must look like; what a job names itself was checked at intake.
enum RecipientRule {
    static func accepts(_ text: SharedText, kind: RecipientKind) -> Bool {
        guard kind == .token || kind == .fid else { return text.count > 0 }
        return RecipientRules.isToken(text)
    }
}

/// Why a project is paused, in words that say what to do.
enum BlockReason {
    static func text(_ failure: Failure) -> String {
        let status = failure.httpStatus == 0 ? "" : "HTTP \(failure.httpStatus) "
        let remedy: String
        switch failure.httpStatus {
        case 401: remedy = "the credential is refused: check the service account or server key"
        case 403: remedy = "no permission: grant the service account the FCM role, or enable the FCM API"
        case 404: remedy = "not found: check the project id and the endpoint"
        default: remedy = "check the project's credentials"
        }
        return "\(status)\(failure.rawError.isEmpty ? failure.error.rawValue : failure.rawError): \(remedy)"
    }
}
