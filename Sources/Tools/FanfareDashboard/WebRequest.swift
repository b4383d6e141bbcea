internal import FanfareJSON
internal import FanfareModel

/// A request, independent of the server.
struct WebRequest: Sendable {
    var method: String
    /// Without the query, not decoded.
    var path: String
    var query: [String: String] = [:]
    /// Names in lower case.
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// The address of the connection's peer, which may be a proxy.
    var peer = ""

    var isRead: Bool { method == "GET" || method == "HEAD" }

    /// The decoded parts of the path; nil if one is not valid.
    var parts: [String]? {
        let parts = path.split(separator: "/").map { Self.decode($0.utf8) }
        return parts.contains(nil) ? nil : parts.compactMap { $0 }
    }

    /// The value of a cookie.
    func cookie(_ name: String) -> String? {
        for pair in (headers["cookie"] ?? "").split(separator: ";") {
            let sides = pair.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, sides[0].drop(while: { $0 == " " }) == name else { continue }
            return String(sides[1])
        }
        return nil
    }

    /// The body as a JSON object; empty for an empty body, nil if it is no object.
    var object: JSONObject? {
        if body.isEmpty { return JSONObject() }
        return (try? JSONParser.parse(body, limits: JSONLimits()))?.object
    }

    /// Decodes percent escapes; nil if they are not valid or the result is not UTF-8.
    private static func decode(_ text: some Sequence<UInt8>) -> String? {
        PercentDecoding.bytes(of: text).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The pairs of a query, at most 32; the last of equal names wins.
    static func query(_ text: String) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&").prefix(32) {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(sides[0].utf8) else { continue }
            let value = sides.count > 1 ? sides[1].replacing("+", with: "%20") : ""
            query[name] = decode(value.utf8)
        }
        return query
    }
}
