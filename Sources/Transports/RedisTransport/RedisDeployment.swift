public import FanfareModel

/// Where a fleet's Redis is: one server, a primary that Sentinels know, or a cluster.
///
/// Beside the URLs of ``RedisEndpoint``:
/// `redis-sentinel://[user[:password]@]host[:port],…[/db][?master=name]` (port 26379, master `mymaster` unless said), and
/// `redis-cluster://[user[:password]@]host[:port],…`. With TLS they begin with `rediss-`. User and password sign in to
/// the servers, not to the Sentinels.
public struct RedisDeployment: Equatable, Sendable, Redacted {
    public enum Form: Equatable, Sendable {
        case server
        /// The name that the Sentinels call the primary by.
        case sentinel(primary: String)
        case cluster
    }

    public let form: Form
    /// The server itself, the Sentinels, or some of the cluster's nodes.
    public private(set) var nodes: [RedisEndpoint]
    /// How to reach and sign in to the servers; of one server also where it is.
    public private(set) var server: RedisEndpoint

    public init(_ server: RedisEndpoint) { self.init(form: .server, nodes: [server], server: server) }

    private init(form: Form, nodes: [RedisEndpoint], server: RedisEndpoint) {
        self.form = form
        self.nodes = nodes
        self.server = server
    }

    public init(url: String) throws(RedisURLError) {
        guard let end = url.firstRange(of: "://"), let form = Self.forms[url[..<end.lowerBound].lowercased()] else {
            // One server, or an unknown scheme, which fails as a URL of one server does.
            self.init(try RedisEndpoint(url: url))
            return
        }
        var rest = url[end.upperBound...]
        let query = RedisEndpoint.cut(&rest, at: "?") ?? ""
        let start = rest.lastIndex(of: "@").map { rest.index(after: $0) } ?? rest.startIndex
        let sign = rest[..<start]
        let hosts = rest[start...].prefix { $0 != "/" }
        let path = rest[hosts.endIndex...]
        let (primary, others) = try Self.primary(query: query, isSentinel: form.isSentinel)
        var nodes: [RedisEndpoint] = []
        for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            nodes.append(
                try RedisEndpoint(
                    url: "\(form.scheme)://\(sign)\(host)\(path)\(others)",
                    defaultPort: form.isSentinel ? 26_379 : 6_379
                )
            )
        }
        guard nodes.count <= 64 else { throw RedisURLError(reason: "at most 64 hosts") }
        let server = nodes[0]
        if form.isSentinel {
            nodes = nodes.map { RedisEndpoint(address: $0.address, usesTLS: $0.usesTLS) }
            self.init(form: .sentinel(primary: primary), nodes: nodes, server: server)
        } else {
            guard server.database == 0 else { throw RedisURLError(reason: "database: a cluster has only 0") }
            self.init(form: .cluster, nodes: nodes, server: server)
        }
    }

    /// With another user and password for the servers.
    public func signedIn(user: String?, password: String?) -> RedisDeployment {
        var copy = self
        copy.server = server.signedIn(user: user, password: password)
        if case .sentinel = form { return copy }
        copy.nodes = nodes.map { $0.signedIn(user: user, password: password) }
        return copy
    }

    /// With a user and password for the Sentinels, and TLS to them or not; nil: as to the servers. Of others: unchanged.
    public func askingSentinels(user: String?, password: String?, usesTLS: Bool?) -> RedisDeployment {
        guard case .sentinel = form else { return self }
        var copy = self
        copy.nodes = nodes.map { node in
            RedisEndpoint(address: node.address, usesTLS: usesTLS ?? server.usesTLS, user: user, password: password)
        }
        return copy
    }

    /// True when every server that the URL names is on this machine.
    public var isLoopback: Bool { nodes.allSatisfy(\.isLoopback) }

    public var description: String {
        let form: String
        var query = ""
        switch self.form {
        case .server: return server.description
        case .sentinel(let primary):
            form = "sentinel"
            query = "/\(server.database)?master=\(primary)"
        case .cluster: form = "cluster"
        }
        let hosts = nodes.map(\.authority).joined(separator: ",")
        let sign = server.user.map { "\($0)@" } ?? ""
        return "\(server.usesTLS ? "rediss" : "redis")-\(form)://\(sign)\(hosts)\(query)"
    }

    private static let forms: [String: (scheme: String, isSentinel: Bool)] = [
        "redis-sentinel": ("redis", true), "rediss-sentinel": ("rediss", true),
        "redis-cluster": ("redis", false), "rediss-cluster": ("rediss", false),
    ]

    /// The primary's name, and the rest of the query with its mark.
    private static func primary(
        query: Substring,
        isSentinel: Bool
    ) throws(RedisURLError) -> (name: String, others: String) {
        var name: Substring?
        var others: [Substring] = []
        for part in query.split(separator: "&") {
            guard isSentinel, part.hasPrefix("master=") else {
                others.append(part)
                continue
            }
            guard name == nil else { throw RedisURLError(reason: "master given twice") }
            name = part.dropFirst(7)
        }
        let known = name ?? "mymaster"
        let isName = known.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
        guard isName, (1...128).contains(known.utf8.count) else {
            throw RedisURLError(reason: "master: 1 to 128 letters, digits, dots, hyphens and underscores")
        }
        return (String(known), others.isEmpty ? "" : "?" + others.joined(separator: "&"))
    }
}
