/// The hosts that may receive a project's credentials: Google's, this machine's, and those in `allowed_hosts`. A
/// configuration that names another is a mistake or an attack.
public struct HostPolicy: Sendable {
    private let allowed: Set<String>

    /// - Parameter allowed: host names, without ports; any case.
    public init(allowed: [String]) { self.allowed = Set(allowed.map { $0.lowercased() }) }

    /// Why a URL is refused; nil if it is allowed. A URL must be `https`, without user, query and fragment.
    ///
    /// - Parameter allowsPath: whether it may have a path.
    public func refusal(of url: String, allowsPath: Bool) -> String? {
        let url = Array(url.utf8)
        let scheme = Array("https://".utf8)
        guard url.count > scheme.count,
            String(decoding: url.prefix(scheme.count), as: UTF8.self).lowercased() == "https://"
        else { return "must start with https://" }
        guard url.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
            return "holds a character that no URL has"
        }
        let rest = url.dropFirst(scheme.count)
        let end =
            rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) } ?? rest.endIndex
        let path = rest[end...]
        if path.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            return "has a query or a fragment"
        }
        if !allowsPath, path.count > 1 { return "has a path; give the origin only" }
        guard let host = Self.host(authority: String(decoding: rest[..<end], as: UTF8.self)) else {
            return "has no valid host and port"
        }
        return refusal(foreign: host)
    }

    /// Why a host is refused; nil if it is allowed. An IPv6 address stands in brackets.
    func refusal(ofHost text: String) -> String? {
        // With a port, the parsed host is shorter than the text.
        guard let host = Self.host(authority: text), host.utf8.count == text.utf8.count else {
            return "\(ValueRules.shown(text)) is not a host name (no scheme, no port)"
        }
        return refusal(foreign: host)
    }

    private func refusal(foreign host: String) -> String? {
        allows(host: host) ? nil : "host \(host) is not Google's, this machine's or listed in allowed_hosts"
    }

    func allows(host: String) -> Bool {
        Self.isGoogles(host) || Self.isLoopback(host) || allowed.contains(host)
    }

    static func isGoogles(_ host: String) -> Bool {
        host == "googleapis.com" || host.hasSuffix(".googleapis.com") || host == "accounts.google.com"
    }

    /// The host of `host[:port]` or `[v6][:port]` in lower case; nil unless both parts are valid.
    static func host(authority: String) -> String? {
        var host = Substring(authority)
        var port: Substring?
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[...close]
            let after = authority[authority.index(after: close)...]
            if !after.isEmpty {
                guard after.hasPrefix(":") else { return nil }
                port = after.dropFirst()
            }
            guard host.dropFirst().dropLast().utf8.allSatisfy(isIPv6Byte), host.count > 2 else { return nil }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        if let port {
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(port),
                (1...65_535).contains(number)
            else { return nil }
        }
        if !host.hasPrefix("["), !isHostName(host) { return nil }
        return host.lowercased()
    }

    static func isHostName(_ host: some StringProtocol) -> Bool {
        !host.isEmpty && host.utf8.count <= 253 && !host.hasPrefix(".") && !host.hasPrefix("-")
            && host.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D
                    || $0 == 0x2E
            }
    }

    private static func isIPv6Byte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte) || byte == 0x3A
            || byte == 0x2E
    }

    /// Whether a host is this machine, by name or by address. `127.0.0.1.example.org` is not.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.count) && UInt8($0) != nil }
    }
}
