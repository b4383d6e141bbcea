/// An HTTP proxy and the user that signs in to it. Printing it shows the address only.
public struct HTTPProxy: Equatable, Sendable, Redacted {
    /// `http://host:port`.
    public let address: String
    /// Empty for a proxy that asks for none.
    public let user: String
    public let password: String

    public init(address: String, user: String = "", password: String = "") {
        (self.address, self.user, self.password) = (address, user, password)
    }

    public var description: String { address }

    /// Part of the remedy where a service cannot be reached. Other programs read the variable, so a user may rely on it.
    public static let hint = "behind a proxy, set `proxy` (HTTPS_PROXY has no effect)"
}

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
