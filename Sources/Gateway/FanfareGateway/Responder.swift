internal import FanfareHTTP
internal import NIOHTTP1

/// What answers requests, and the bounds of a request.
struct Responder: Sendable {
    /// Bytes of a body to a path, inflated; a longer one is reported as too large.
    var maximumBodyBytes: @Sendable (_ path: String) -> Int
    /// Whether the body of a request is read, by its `Authorization` header and path. Bodies of strangers are dropped as
    /// they arrive.
    var reads: @Sendable (_ authorization: String?, _ path: String) -> Bool
    /// Whether a path needs a key. The bodies of the other paths have a limit of their own: strangers hold no memory that
    /// requests with a key need.
    var needsKey: @Sendable (_ path: String) -> Bool = { _ in true }
    /// Is cancelled when the client left.
    var respond: @Sendable (WebRequest) async -> WebReply
    /// Bytes of a body that is passed on as it comes, inflated; nil for one that is read whole.
    var maximumStreamedBytes: @Sendable (_ head: WebRequest) -> Int? = { _ in nil }
    /// Answers a request whose body is passed on. Is cancelled when the client left.
    var stream: @Sendable (_ head: WebRequest, RequestBody) async -> WebReply = { _, _ in
        WebReply(status: 500, type: nil)
    }
}

extension WebRequest {
    /// A request without its body.
    init(_ head: HTTPRequestHead, peer: String) {
        let target = Self.originForm(head.uri).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var headers: [String: String] = [:]
        for (name, value) in head.headers {
            let name = name.lowercased()
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
        self.init(
            method: head.method.rawValue,
            path: target.first.map { $0.isEmpty ? "/" : String($0) } ?? "/",
            queryText: target.count > 1 ? String(target[1]) : "",
            headers: headers,
            peer: peer
        )
    }

    /// The target without the scheme and the authority of an absolute form (RFC 9112, 3.2.2), which clients of a proxy send.
    private static func originForm(_ target: String) -> Substring {
        guard target.utf8.first != UInt8(ascii: "/"),
            let scheme = ["http://", "https://"].first(where: target.lowercased().hasPrefix)
        else { return target[...] }
        let rest = target.dropFirst(scheme.count)
        return rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
    }
}
