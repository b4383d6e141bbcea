internal import FanfareModel

/// The hosts that may receive a project's credentials: Google's, this machine's, and the hosts in `allowed_hosts`. A
/// configuration that names another is a mistake or an attack.
public struct HostPolicy: Sendable {
    private let allowed: Set<String>

    /// - Parameter allowed: host names, without ports; any case.
    public init(allowed: [String]) { self.allowed = Set(allowed.map { $0.lowercased() }) }

    /// Why a URL is refused; nil if it is allowed. A URL must be `https`, without user, query and fragment.
    ///
    /// - Parameter allowsPath: whether it may have a path.
    public func fault(of url: String, allowsPath: Bool) -> String? {
        guard url.lowercased().hasPrefix("https://") else { return "must start with https://" }
        do throws(URLFault) {
            return fault(foreign: try Self.host(of: url, allowsPath: allowsPath))
        } catch {
            return error.text
        }
    }

    /// Why the URL of an OTLP collector is refused; nil if it is allowed. With `https` it may be any host's; plain HTTP
    /// goes only to this machine and to allowed hosts.
    func fault(ofCollector url: String) -> String? {
        let isPlain = url.hasPrefix("http://")
        guard isPlain || url.hasPrefix("https://") else { return "must start with http:// or https://" }
        do throws(URLFault) {
            let host = try Self.host(of: url, allowsPath: true)
            guard isPlain, !Loopback.names(host), !allowed.contains(host) else { return nil }
            return
                "plain HTTP to host \(host), which is neither this machine's nor listed in allowed_hosts; use https://"
        } catch {
            return error.text
        }
    }

    private struct URLFault: Error { let text: String }

    /// Whether a text consists of bytes that a URL may have.
    private static func isWritable(_ url: String) -> Bool {
        url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
    }

    /// The host of a URL that has neither user, query nor fragment.
    private static func host(of url: String, allowsPath: Bool) throws(URLFault) -> String {
        guard isWritable(url) else {
            throw URLFault(text: "holds a character that no URL has")
        }
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? ""
        let authority = rest.prefix { !"/?#".contains($0) }
        let path = rest[authority.endIndex...]
        if path.contains(where: { "?#".contains($0) }) { throw URLFault(text: "has a query or a fragment") }
        if !allowsPath, path.count > 1 { throw URLFault(text: "has a path; give the origin only") }
        guard let host = host(authority: String(authority)) else {
            throw URLFault(text: "has no valid host and port")
        }
        return host
    }

    /// Why a URL that serves metadata or subject tokens is refused; nil if it is allowed. It may have a query. Plain
    /// HTTP goes to loopback, the metadata server and the allowed hosts only, never to another host of Google.
    public func fault(ofTokenSource url: String) -> String? {
        guard !url.contains("#"), Self.isWritable(url) else {
            return "holds a character that no URL has, or a fragment"
        }
        let text = String(url.prefix { $0 != "?" })
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme) else { return fault(of: text, allowsPath: true) }
        let authority = text.dropFirst(scheme.count).prefix { $0 != "/" }
        guard let host = Self.host(authority: String(authority)) else { return "has no valid host and port" }
        if Loopback.names(host) || Self.metadataHosts.contains(host) || allowed.contains(host) { return nil }
        return "plain HTTP to host \(host): only to this machine, a metadata server or hosts in allowed_hosts"
    }

    /// The metadata servers of Google Cloud and of others.
    private static let metadataHosts: Set = ["metadata.google.internal", "169.254.169.254"]

    /// Why a host is refused; nil if it is allowed. An IPv6 address stands in brackets.
    func fault(ofHost text: String) -> String? {
        // With a port, the parsed host is shorter than the text.
        guard let host = Self.host(authority: text), host.utf8.count == text.utf8.count else {
            return "\(ValueRules.shown(text)) is not a host name (no scheme, no port)"
        }
        return fault(foreign: host)
    }

    private func fault(foreign host: String) -> String? {
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
