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
