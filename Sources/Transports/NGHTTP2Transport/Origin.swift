/// Host and port of an origin.
struct Origin: Equatable {
    /// `https://host[:port]`.
    let text: String
    /// A name or an address; an IPv6 address without its brackets.
    let host: String
    /// 0 if the text names no port of 1 to 65535.
    let port: Int

    init(_ text: String) {
        self.text = text
        let authority = text.dropFirst("https://".count)
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = String(authority[authority.index(after: authority.startIndex)..<end])
            port = Self.port(authority[authority.index(after: end)...])
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = String(authority[..<colon])
            port = Self.port(authority[colon...])
        }
    }

    /// - Parameter text: empty, or a colon and a number.
    private static func port(_ text: Substring) -> Int {
        guard !text.isEmpty else { return 443 }
        guard let port = Int(text.dropFirst()), (1...65_535).contains(port) else { return 0 }
        return port
    }
}
