public import FanfareJSON

/// The reply to a request.
public struct WebReply: Sendable {
    /// Writes a body in pieces, each of which is sent before the next is made.
    public typealias Body = @Sendable (_ write: ([UInt8]) async throws -> Void) async throws -> Void

    public var status: Int
    /// `Content-Type`; nil to leave it out.
    public var type: String?
    public var bytes: [UInt8]
    public var headers: [(name: String, value: String)]
    /// A body in place of ``bytes``; nil for most replies. If it throws, the connection breaks, so that no part passes for
    /// a whole.
    public var body: Body?
    /// Is called once with the end of the reply: whether its last byte was written to the socket. `false` if the connection or
    /// the stream ended before that, or the client was gone before the reply was made. Only the gateway calls it.
    public var onEnd: (@Sendable (_ isWritten: Bool) -> Void)?

    public init(
        status: Int,
        type: String?,
        bytes: [UInt8] = [],
        headers: [(name: String, value: String)] = [],
        body: Body? = nil
    ) {
        (self.status, self.type, self.bytes) = (status, type, bytes)
        (self.headers, self.body) = (headers, body)
    }

    public static func json(
        _ object: JSONObject,
        status: Int = 200,
        headers: [(name: String, value: String)] = []
    ) -> WebReply {
        let bytes = JSONValue.object(object).jsonBytes
        return WebReply(status: status, type: "application/json; charset=utf-8", bytes: bytes, headers: headers)
    }

    public static func text(
        _ text: String,
        status: Int = 200,
        type: String = "text/plain; charset=utf-8",
        headers: [(name: String, value: String)] = []
    ) -> WebReply {
        WebReply(status: status, type: type, bytes: Array(text.utf8), headers: headers)
    }

    /// An error with a code for programs and a sentence for users.
    public static func error(
        _ status: Int,
        _ code: String,
        _ message: String,
        headers: [(name: String, value: String)] = []
    ) -> WebReply {
        json(["error": .string(code), "message": .string(message)], status: status, headers: headers)
    }
}
