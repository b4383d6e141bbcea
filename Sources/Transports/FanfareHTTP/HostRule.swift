/// Reads `Host`, and decides whether a request names its host as HTTP/1.1 requires: in exactly one `Host` line (RFC 9112, section 3.2).
public enum HostRule {
    /// Why a request is answered with 400, as a sentence; nil if its `Host` is valid.
    ///
    /// - Parameters:
    ///   - hosts: the values of all `Host` lines.
    ///   - isHTTP10: HTTP/1.0 requests may omit `Host`, as probes of load balancers do.
    public static func fault(hosts: [String], isHTTP10: Bool) -> String? {
        guard let host = hosts.first else { return isHTTP10 ? nil : "The request has no Host header." }
        guard hosts.count == 1 else { return "The request has \(hosts.count) Host headers instead of one." }
        guard host.utf8.allSatisfy(isHostByte) else { return "The Host header is not a host with an optional port." }
        return nil
    }

    /// The host of `host[:port]`, in lower case and without an IPv6 address's brackets; nil for any other text.
    public static func name(ofAuthority authority: String) -> String? {
        let match = authority.wholeMatch(of: /\[([^\]]+)\](?::.*)?|([^:\[]+)(?::[0-9]*)?/)
        return (match?.1 ?? match?.2)?.lowercased()
    }

    /// Whether a byte is visible ASCII and neither ends a host in a URL nor separates a list.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"/?#@,\\\"".utf8.contains(byte)
    }
}
