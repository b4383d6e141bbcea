/// Decides whether the end of a request's body is known: `chunked` is the only transfer encoding that the server decodes
/// (RFC 9112, section 6.1). The decoder ignores others and would read the body as a next request.
enum TransferEncodingRule {
    /// - Parameter encodings: the values of all `Transfer-Encoding` lines.
    static func allows(_ encodings: [String]) -> Bool {
        encodings.isEmpty || encodings.map { $0.lowercased() } == ["chunked"]
    }
}
