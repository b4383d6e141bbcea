internal import FanfareHTTP
internal import NIOCore
internal import NIOHPACK
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
    /// Begins the answer of a request whose body was read whole: on its connection's loop, or elsewhere for a large body.
    ///
    /// `answer` is called once, on any thread. What is returned is called if the client leaves before that.
    var respond: @Sendable (WebRequest, _ answer: @escaping @Sendable (WebReply) -> Void) -> @Sendable () -> Void
    /// Bytes of a body that is passed on as it comes, inflated; nil for one that is read whole.
    var maximumStreamedBytes: @Sendable (_ head: WebRequest) -> Int? = { _ in nil }
    /// Answers a request whose body is passed on. Is cancelled when the client left.
    var stream: @Sendable (_ head: WebRequest, RequestBody) async -> WebReply = { _, _ in
        WebReply(status: 500, type: nil)
    }
}

/// The key of a connection, whose test costs more than the rest of a head.
struct KnownKey {
    private var authorization: String?
    private var end = NIODeadline.distantPast

    /// Whether the body of a request is read. A key that was known a moment ago is not tested again: what answers the request
    /// tests it.
    mutating func reads(_ request: WebRequest, on server: HTTPConnections, now: NIODeadline) -> Bool {
        let authorization = request.headers["authorization"]
        if authorization != nil, authorization == self.authorization, now < end { return true }
        let isRead = server.responder.reads(authorization, request.path)
        if isRead, server.responder.needsKey(request.path) {
            (self.authorization, end) = (authorization, now + server.times.knownKey)
        }
        return isRead
    }
}

extension WebRequest {
    /// A request of HTTP/1.1, without its body.
    init(_ head: HTTPRequestHead, peer: String) {
        self.init(method: head.method.rawValue, target: head.uri, peer: peer)
        for (name, value) in head.headers { add(name.inLowerCase, value) }
    }

    /// A request of HTTP/2, without its body; nil if it names no method, path or host.
    init?(_ headers: HPACKHeaders, peer: String) {
        guard let method = headers.first(name: ":method"), let target = headers.first(name: ":path") else { return nil }
        self.init(method: method, target: target, peer: peer)
        for (name, value, _) in headers where name.utf8.first != UInt8(ascii: ":") { add(name, value) }
        if self.headers["host"] == nil {
            guard let host = headers.first(name: ":authority") else { return nil }
            self.headers["host"] = host
        }
    }

    private init(method: String, target: String, peer: String) {
        let target = Self.originForm(target)
        let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        self.init(
            method: method,
            path: end == target.startIndex ? "/" : String(target[..<end]),
            queryText: String(target[end...].dropFirst()),
            peer: peer
        )
    }

    private mutating func add(_ name: String, _ value: String) {
        headers[name] = headers[name].map { "\($0), \(value)" } ?? value
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
