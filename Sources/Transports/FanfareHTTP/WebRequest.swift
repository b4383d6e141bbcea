public import FanfareJSON
internal import FanfareModel

/// A request, independent of the server.
public struct WebRequest: Sendable {
    public var method: String
    /// Without the query, not decoded.
    public var path: String
    /// Not decoded.
    public var queryText: String
    /// Names in lower case. Repeated headers are joined by commas.
    public var headers: [String: String]
    public var body: [UInt8]
    /// Whether the body was longer than the server reads. ``body`` is empty then.
    public var isBodyTooLarge = false
    /// Whether the bodies of other requests left no memory for this one. ``body`` is empty then.
    public var isMemoryFull = false
    /// Why the body's coding could not be undone; ``body`` is empty then.
    public var bodyFault: String?
    /// Counts the bytes of ``body`` as long as it lives; nil for a server that counts none.
    public var held: (any AnyObject & Sendable)?
    /// The address of the connection's peer, which may be a proxy.
    public var peer: String

    /// - Parameter headers: names in lower case.
    public init(
        method: String,
        path: String,
        queryText: String = "",
        headers: [String: String] = [:],
        body: [UInt8] = [],
        peer: String = ""
    ) {
        (self.method, self.path, self.queryText) = (method, path, queryText)
        (self.headers, self.body, self.peer) = (headers, body, peer)
    }

    public var isRead: Bool { method == "GET" || method == "HEAD" }

    /// The host that the request names, in lower case; nil without a valid `Host`.
    public var host: String? { headers["host"].flatMap { HostRule.name(ofAuthority: $0) } }

    /// The decoded parts of the path; nil if one is not valid.
    public var parts: [String]? {
        let parts = path.split(separator: "/").map { Self.decode($0.utf8) }
        return parts.contains(nil) ? nil : parts.compactMap { $0 }
    }

    /// The value of a cookie.
    public func cookie(_ name: String) -> String? {
        for pair in (headers["cookie"] ?? "").split(separator: ";") {
            let sides = pair.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, sides[0].drop(while: { $0 == " " }) == name else { continue }
            return String(sides[1])
        }
        return nil
    }

    /// The body as a JSON object; empty for an empty body, nil if it is no object.
    public var object: JSONObject? {
        if body.isEmpty { return JSONObject() }
        return (try? JSONParser.parse(body, limits: JSONLimits()))?.object
    }

    /// The decoded pairs of the query, at most 32; the last of equal names wins.
    public var query: [String: String] {
        var query: [String: String] = [:]
        for pair in queryText.split(separator: "&").prefix(32) {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(sides[0].utf8) else { continue }
            let value = sides.count > 1 ? sides[1].replacing("+", with: "%20") : ""
            query[name] = Self.decode(value.utf8)
        }
        return query
    }

    /// Decodes percent escapes; nil if they are not valid or the result is not UTF-8.
    private static func decode(_ text: some Sequence<UInt8>) -> String? {
        PercentDecoding.bytes(of: text).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
