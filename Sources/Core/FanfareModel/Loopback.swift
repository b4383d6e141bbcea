/// Names of this machine for itself.
public enum Loopback {
    /// By name or by address, with or without an IPv6 address's brackets, in any case; `127.0.0.1.example.org` is
    /// neither.
    public static func names(_ host: some StringProtocol) -> Bool {
        let host = host.lowercased()
        if ["localhost", "localhost.", "::1", "[::1]"].contains(host) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.utf8.count) && UInt8($0) != nil }
    }
}
