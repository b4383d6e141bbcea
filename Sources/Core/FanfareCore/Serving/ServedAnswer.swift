public import FanfareJSON

/// The answer to an HTTP request, independent of the server.
public struct ServedAnswer: Equatable, Sendable {
    public struct Header: Equatable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public var status: Int
    /// `Content-Type`; nil to leave it out.
    public var type: String?
    public var body: [UInt8]
    public var headers: [Header]

    public init(status: Int, type: String?, body: [UInt8] = [], headers: [Header] = []) {
        (self.status, self.type, self.body, self.headers) = (status, type, body, headers)
    }

    public static func json(_ object: JSONObject, status: Int = 200, headers: [Header] = []) -> ServedAnswer {
        ServedAnswer(
            status: status,
            type: "application/json; charset=UTF-8",
            body: JSONValue.object(object).jsonBytes,
            headers: headers
        )
    }
}
