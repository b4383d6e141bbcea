public import FanfareModel
internal import Glibc

/// A URL that names no Redis server. Says which part is wrong, never the URL itself: it may hold a password.
public struct RedisURLError: Error, Equatable, Sendable, CustomStringConvertible {
    public let reason: String
    public var description: String { "Redis URL: \(reason)" }
}

/// Where a Redis server is and how to sign in.
///
/// `redis://[user[:password]@]host[:port][/db]`, `rediss://` for TLS, `unix://[user[:password]@]/path[?db=n]`.
/// User and password are percent-decoded; a password without a user is `redis://:password@host`.
public struct RedisEndpoint: Equatable, Sendable, Redacted {
    public enum Address: Equatable, Sendable {
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }

    public let address: Address
    public let usesTLS: Bool
    public let user: String?
    /// Not shown by any description.
    public let password: String?
    public let database: Int

    public init(
        address: Address,
        usesTLS: Bool = false,
        user: String? = nil,
        password: String? = nil,
        database: Int = 0
    ) {
        self.address = address
        self.usesTLS = usesTLS
        self.user = user
        self.password = password
        self.database = database
    }

    public init(url: String) throws(RedisURLError) { try self.init(url: url, defaultPort: 6_379) }

    init(url: String, defaultPort: UInt16) throws(RedisURLError) {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url[colon...].hasPrefix("://") else {
            throw RedisURLError(reason: "no scheme, expected redis://, rediss:// or unix://")
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw RedisURLError(reason: "spaces and control characters are not allowed")
        }
        let scheme = url[..<colon].lowercased()
        var rest = url[url.index(colon, offsetBy: 3)...]
        guard !rest.contains("#") else {
            throw RedisURLError(reason: "a fragment is not allowed; percent-encode # as %23")
        }
        let query = Self.cut(&rest, at: "?") ?? ""
        // The last @ before the path: passwords that were not encoded may hold one.
        if scheme == "unix" {
            let at = rest.lastIndex(of: "@")
            let path = at.map { rest[rest.index(after: $0)...] } ?? rest
            (user, password) = try Self.credentials(at.map { rest[..<$0] })
            guard path.hasPrefix("/"), path.utf8.count < 108 else {
                throw RedisURLError(reason: "unix:// needs an absolute path of at most 107 bytes")
            }
            address = .unix(path: try Self.decode(path, "path"))
            usesTLS = false
            database = try Self.database(query: query) ?? 0
            return
        }
        guard scheme == "redis" || scheme == "rediss" else { throw RedisURLError(reason: "unknown scheme \(scheme)") }
        usesTLS = scheme == "rediss"
        let hostStart = rest.lastIndex(of: "@") ?? rest.startIndex
        let hostEnd = rest[hostStart...].firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<hostEnd]
        let at = authority.lastIndex(of: "@")
        (user, password) = try Self.credentials(at.map { authority[..<$0] })
        address = try Self.hostAndPort(
            at.map { authority[authority.index(after: $0)...] } ?? authority,
            defaultPort: defaultPort
        )
        let name = rest[hostEnd...].dropFirst()
        let inQuery = try Self.database(query: query)
        guard name.isEmpty || inQuery == nil else { throw RedisURLError(reason: "database given twice") }
        database = try name.isEmpty ? inQuery ?? 0 : Self.number(name)
    }

    /// The same at another address, as a Sentinel or a cluster's node names it.
    public func at(_ address: Address) -> RedisEndpoint {
        RedisEndpoint(address: address, usesTLS: usesTLS, user: user, password: password, database: database)
    }

    /// The same with another user and password; nil: without.
    public func signedIn(user: String?, password: String?) -> RedisEndpoint {
        RedisEndpoint(address: address, usesTLS: usesTLS, user: user, password: password, database: database)
    }

    /// True when the server is on this machine.
    public var isLoopback: Bool {
        switch address {
        case .unix: return true
        case .tcp(let host, _): return Loopback.names(host)
        }
    }

    public var description: String {
        let sign = user.map { "\($0)@" } ?? ""
        switch address {
        case .tcp: return "\(usesTLS ? "rediss" : "redis")://\(sign)\(authority)/\(database)"
        case .unix(let path): return "unix://\(sign)\(path)?db=\(database)"
        }
    }

    /// Host and port, or the socket's path.
    var authority: String {
        switch address {
        case .tcp(let host, let port): return "\(host.contains(":") ? "[\(host)]" : host):\(port)"
        case .unix(let path): return path
        }
    }

    // MARK: Parts

    /// Removes the mark and the text after it; returns that text, nil without the mark.
    static func cut(_ text: inout Substring, at mark: Character) -> Substring? {
        guard let index = text.firstIndex(of: mark) else { return nil }
        defer { text = text[..<index] }
        return text[text.index(after: index)...]
    }

    private static func credentials(_ part: Substring?) throws(RedisURLError) -> (String?, String?) {
        guard var part else { return (nil, nil) }
        let password = cut(&part, at: ":")
        let user = try decode(part, "user")
        guard let password else { return (user.isEmpty ? nil : user, nil) }
        return (user.isEmpty ? nil : user, try decode(password, "password"))
    }

    private static func hostAndPort(_ text: Substring, defaultPort: UInt16) throws(RedisURLError) -> Address {
        var host = text
        var port: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { throw RedisURLError(reason: "host: missing ]") }
            let after = host[host.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { throw RedisURLError(reason: "host: text after ]") }
            port = after.isEmpty ? nil : after.dropFirst()
            host = host[host.index(after: host.startIndex)..<end]
            var address = in6_addr()
            guard inet_pton(AF_INET6, String(host), &address) == 1 else {
                throw RedisURLError(reason: "host: not an IPv6 address")
            }
        } else {
            port = cut(&host, at: ":")
            let isName = host.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
            guard isName, !host.isEmpty, host.utf8.count <= 253 else { throw RedisURLError(reason: "host: not a name") }
        }
        guard let port else { return .tcp(host: String(host), port: defaultPort) }
        guard port.utf8.allSatisfy(\.isASCIIDigit), let number = UInt16(port), number > 0 else {
            throw RedisURLError(reason: "port: expected 1 to 65535")
        }
        return .tcp(host: String(host), port: number)
    }

    private static func database(query: Substring) throws(RedisURLError) -> Int? {
        guard !query.isEmpty else { return nil }
        guard query.hasPrefix("db="), !query.contains("&") else {
            throw RedisURLError(reason: "unknown query, only db=n is allowed")
        }
        return try number(query.dropFirst(3))
    }

    private static func number(_ text: Substring) throws(RedisURLError) -> Int {
        guard text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text), number <= 65_535 else {
            throw RedisURLError(reason: "database: expected 0 to 65535")
        }
        return number
    }

    private static func decode(_ text: Substring, _ part: String) throws(RedisURLError) -> String {
        guard let bytes = PercentDecoding.bytes(of: text.utf8) else {
            throw RedisURLError(reason: "\(part): broken percent-encoding")
        }
        guard let decoded = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw RedisURLError(reason: "\(part): not text")
        }
        return decoded
    }
}
