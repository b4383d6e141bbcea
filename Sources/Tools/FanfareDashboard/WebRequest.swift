internal import FanfareJSON
internal import FanfareModel

/// A request as the dashboard decides on it.
struct WebRequest: Sendable {
    var method: String
    /// Without the query, as it came.
    var path: String
    var query: [String: String] = [:]
    /// Names in lower case.
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// The address that the connection comes from; a proxy's, where there is one.
    var peer = ""

    var host: String? { headers["host"] }

    /// The parts of the path, decoded; nil where one is not valid.
    var parts: [String]? {
        var parts: [String] = []
        for part in path.split(separator: "/") {
            guard let decoded = Self.decode(part.utf8) else { return nil }
            parts.append(decoded)
        }
        return parts
    }

    /// One cookie's value.
    func cookie(_ name: String) -> String? {
        for pair in (headers["cookie"] ?? "").split(separator: ";") {
            let sides = pair.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, sides[0].drop(while: { $0 == " " }) == name else { continue }
            return String(sides[1])
        }
        return nil
    }

    /// The body as an object; an empty body is an empty one.
    var object: JSONObject? {
        if body.isEmpty { return JSONObject() }
        return (try? JSONParser.parse(body, limits: JSONLimits()))?.object
    }

    /// nil for what is no text after its percent signs are read.
    private static func decode(_ text: some Sequence<UInt8>) -> String? {
        PercentDecoding.bytes(of: text).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The pairs of a query; of equal names the last one counts.
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
