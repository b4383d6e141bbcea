internal import FanfareModel

/// The paths on which Google serves topics and device groups (contract 8, `gateway-facts.md` 1.2).
///
/// A path is read without its query, in the client's spelling: a token may come with `:` as it is or as `%3A`.
public enum ManagementRoute: Equatable, Sendable {
    /// `/iid/v1:batchAdd` and `/iid/v1:batchRemove`: many tokens, one topic.
    case batch(isAdding: Bool)
    /// `/iid/v1/{token}/rel/topics/{topic}`.
    case relation(token: String, topic: String)
    /// `/iid/info/{token}`, and `/iid/{token}` of PHP's SDK: the topics of a token.
    case info(token: String)
    /// `/v1/projects/{project}/registrations/{registration}/topicSubscriptions`, and with a topic `…/{topic}`.
    case subscriptions(project: String, registration: String, topic: String?)
    /// `/fcm/notification`, and `/gcm/notification` of older clients.
    case groups

    /// nil for any other path, and for one whose escapes are broken.
    public init?(path: String) {
        var parts: [String] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let bytes = PercentDecoding.bytes(of: part.utf8), !bytes.isEmpty,
                let text = String(validating: bytes, as: UTF8.self)
            else { return nil }
            parts.append(text)
        }
        switch (parts.first, parts.count) {
        case ("fcm", 2), ("gcm", 2):
            guard parts[1] == "notification" else { return nil }
            self = .groups
        case ("iid", 2):
            switch parts[1] {
            case "v1:batchAdd": self = .batch(isAdding: true)
            case "v1:batchRemove": self = .batch(isAdding: false)
            case "v1", "info": return nil
            default: self = .info(token: parts[1])
            }
        case ("iid", 3):
            guard parts[1] == "info" else { return nil }
            self = .info(token: parts[2])
        case ("iid", 6):
            guard parts[1] == "v1", parts[3] == "rel", parts[4] == "topics" else { return nil }
            self = .relation(token: parts[2], topic: parts[5])
        case ("v1", 6), ("v1", 7):
            guard parts[1] == "projects", parts[3] == "registrations", parts[5] == "topicSubscriptions" else {
                return nil
            }
            let topic = parts.count == 7 ? parts[6] : nil
            self = .subscriptions(project: parts[2], registration: parts[4], topic: topic)
        default: return nil
        }
    }

    /// The project that the path names; nil where it is that of the key.
    public var project: String? {
        if case .subscriptions(let project, _, _) = self { return project }
        return nil
    }

    public var methods: [String] {
        switch self {
        case .batch: ["POST"]
        case .relation: ["POST", "DELETE"]
        case .info: ["GET"]
        case .subscriptions(_, _, nil): ["GET", "POST"]
        case .subscriptions: ["GET", "DELETE"]
        case .groups: ["GET", "POST"]
        }
    }
}
