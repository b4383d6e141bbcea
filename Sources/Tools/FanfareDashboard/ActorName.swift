internal import FanfareHTTP

/// Who acts on the dashboard, for the audit list and the log.
///
/// The peer's address is a fact. Behind a proxy it is the proxy's, and the proxy names the user in headers, which every
/// client can set as well. So they count only if the operator says that a proxy serves the page (`--allow-host`), and
/// only from this machine: of `X-Forwarded-For` the last address, which the proxy added; the user's name only from the
/// header that the operator says the proxy sets (`--user-header`).
enum ActorName {
    private static let maximumNameBytes = 64

    static func of(_ request: WebRequest, _ options: DashboardOptions) -> String {
        guard !options.allowedHosts.isEmpty, isLocal(request.peer) else { return request.peer }
        let forwarded = request.headers["x-forwarded-for"]?.split(separator: ",").last.flatMap { clean($0) }
        let user = options.userHeader.flatMap { request.headers[$0.lowercased()] }.flatMap { clean($0[...]) }
        let address = forwarded ?? request.peer
        return user.map { "\($0)@\(address)" } ?? address
    }

    private static func isLocal(_ peer: String) -> Bool {
        peer == "::1" || peer.hasPrefix("127.") || peer.hasPrefix("::ffff:127.")
    }

    /// A name or an address without the spaces around it; nil if it is too long, or holds anything else.
    private static func clean(_ text: Substring) -> String? {
        let name = text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
        let isPlain = name.allSatisfy { byte in
            byte.isASCII && (byte.isLetter || byte.isNumber || "._-+@:[]".contains(byte))
        }
        return isPlain && (1...maximumNameBytes).contains(name.count) ? String(name) : nil
    }
}
