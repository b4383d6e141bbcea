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

    /// The remedy for a failure, if the proxy asked for a user or refused one: it answered CONNECT with 407.
    ///
    /// - Parameter reason: libcurl's text; version 7.87 and later write the first form.
    public static func remedy(forFailure reason: String) -> String? {
        let isRefusal =
            reason.contains("CONNECT tunnel failed, response 407") || reason.contains("HTTP code 407 from proxy")
        return isRefusal
            ? "the proxy asks for a user and a password: set proxy_user and proxy_password_file, or correct them" : nil
    }
}
