internal import FanfareModel

/// The API to which a path belongs. Paths alone decide: SDKs name other hosts.
public enum GatewayPath: Equatable, Sendable {
    /// `/v1/projects/{project}/messages:send`.
    case v1(project: String)
    /// `/fcm/send`, and `/gcm/send` of older clients.
    case legacy
    /// ``tokenPath``.
    case token
    case management(ManagementRoute)
    case own(OwnRoute)
    case other

    /// The only path of requests with a body that need no key.
    public static let tokenPath = "/token"

    /// - Parameter path: still encoded, without the query.
    public init(_ path: String) {
        if let project = Self.v1Project(path) {
            self = .v1(project: project)
        } else if let route = OwnRoute(path: path) {
            self = .own(route)
        } else if ["/fcm/send", "/gcm/send"].contains(path) {
            self = .legacy
        } else if path == Self.tokenPath {
            self = .token
        } else {
            self = ManagementRoute(path: path).map { GatewayPath.management($0) } ?? .other
        }
    }

    /// Clients may write the colon as `%3A`, and repeat slashes. Most do neither.
    private static func v1Project(_ path: String) -> String? {
        let (head, tail) = ("/v1/projects/", "/messages:send")
        if path.hasPrefix(head), path.hasSuffix(tail), path.utf8.count > head.utf8.count + tail.utf8.count {
            let project = path.utf8.dropFirst(head.utf8.count).dropLast(tail.utf8.count)
            if project.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }) { return String(project) }
        }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        guard parts.count == 4, let last = decoded(parts[3]), last == "messages:send", decoded(parts[0]) == "v1",
            decoded(parts[1]) == "projects"
        else { return nil }
        return decoded(parts[2])
    }

    private static func decoded(_ part: Substring.UTF8View) -> String? {
        PercentDecoding.bytes(of: part).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The value of the metrics' label `api`.
    public var api: String {
        switch self {
        case .v1: "v1"
        case .legacy: "legacy"
        case .token: "token"
        case .management: "management"
        case .own: "own"
        case .other: "other"
        }
    }
}
