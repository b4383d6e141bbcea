/// Decides whether a request names its host as HTTP/1.1 requires: in exactly one `Host` line (RFC 9112, section 3.2).
public enum HostRule {
    /// Why a request is answered with 400, as a sentence; nil when its `Host` is as it must be.
    ///
    /// - Parameters:
    ///   - hosts: the values of all `Host` lines.
    ///   - isHTTP10: HTTP/1.0 knows no `Host`, so it may be left out there; load balancers probe so.
    public static func refusal(hosts: [String], isHTTP10: Bool) -> String? {
        guard let host = hosts.first else { return isHTTP10 ? nil : "The request has no Host header." }
        guard hosts.count == 1 else { return "The request has \(hosts.count) Host headers, and may have one." }
        guard host.utf8.allSatisfy(isHostByte) else { return "The Host header is no host with a port." }
        return nil
    }

    /// Visible ASCII without what would end a host in a URL, or join two in a list.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"/?#@,\\\"".utf8.contains(byte)
    }
}
