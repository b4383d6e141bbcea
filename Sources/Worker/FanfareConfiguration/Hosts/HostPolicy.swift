internal import FanfareModel

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
        let scheme = "https://"
        guard url.count > scheme.count, url.lowercased().hasPrefix(scheme) else { return "must start with https://" }
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
            return "holds a character that no URL has"
        }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        let path = rest[authority.endIndex...]
        if path.contains(where: { "?#".contains($0) }) { return "has a query or a fragment" }
        if !allowsPath, path.count > 1 { return "has a path; give the origin only" }
        guard let host = Self.host(authority: String(authority)) else { return "has no valid host and port" }
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
        Self.isGoogles(host) || Loopback.names(host) || allowed.contains(host)
    }

    static func isGoogles(_ host: String) -> Bool {
        host == "googleapis.com" || host.hasSuffix(".googleapis.com") || host == "accounts.google.com"
    }

    /// The host of `host[:port]` or `[v6][:port]` in lower case; nil unless both parts are valid.
    static func host(authority: String) -> String? {
        let isIPv6 = authority.hasPrefix("[")
        let mark = authority.firstIndex(of: isIPv6 ? "]" : ":")
        if isIPv6, mark == nil { return nil }
        let end = mark.map { isIPv6 ? authority.index(after: $0) : $0 } ?? authority.endIndex
        let (host, rest) = (authority[..<end], authority[end...])
        if !rest.isEmpty {
            let port = rest.dropFirst()
            guard rest.hasPrefix(":"), port.utf8.allSatisfy(\.isASCIIDigit), let number = Int(port),
                (1...65_535).contains(number)
            else { return nil }
        }
        let isValid =
            isIPv6 ? host.count > 2 && host.dropFirst().dropLast().utf8.allSatisfy(isIPv6Byte) : isHostName(host)
        return isValid ? host.lowercased() : nil
    }

    static func isHostName(_ host: some StringProtocol) -> Bool {
        !host.isEmpty && host.utf8.count <= 253 && !host.hasPrefix(".") && !host.hasPrefix("-")
            && host.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-.".utf8.contains($0) }
    }

    private static func isIPv6Byte(_ byte: UInt8) -> Bool { byte.hexDigitValue != nil || ":.".utf8.contains(byte) }
}
