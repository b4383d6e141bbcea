public import FanfareJSON
public import StreamWire

/// An entry of a project's `upstream` stream: a message from an app, or a delivery receipt from FCM. Only projects with
/// the XMPP transport have any.
public struct UpstreamEntry: Equatable, Sendable {
    /// The Unix milliseconds that are accepted as a time.
    private static let times: ClosedRange<Int64> = 0...99_999_999_999_999

    /// A delivery receipt.
    public struct Receipt: Equatable, Sendable {
        /// FCM's status, such as `MESSAGE_SENT_TO_DEVICE`; empty if the receipt names none.
        public var status: String
        /// The id that the worker gave the message; empty if the receipt names none.
        public var originalMessageID: String
        /// The device that has the message; empty if the receipt names none.
        public var token: String
        /// The job that the message belongs to; nil if the original id is not a worker's.
        public var job: String?
        /// The recipient's index in the order the producer gave; nil if ``job`` is.
        public var index: Int64?
    }

    /// The stream id.
    public var id: String
    /// The delivery receipt; nil for a message from an app.
    public var receipt: Receipt?
    /// The sender's token; for a receipt FCM's name.
    public var from: String
    /// The app's package or bundle name; may be empty.
    public var category: String
    /// The sender's id. FCM repeats what was not acknowledged with the same id: use it to recognise repetitions.
    public var messageID: String
    /// The value of `data`: an object or a string, as the app sent it.
    public var data: JSONValue
    /// ``data`` as JSON text, for another JSON parser.
    public var dataJSON: String
    /// When a worker received it, Unix milliseconds; nil if the entry holds no valid time.
    public var receivedMs: Int64?

    /// - Throws: ``FanfareClientError`` if no worker wrote the entry.
    public init(_ entry: StreamEntry) throws(FanfareClientError) {
        func text(_ name: String) -> String? {
            entry.fields.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
        }
        guard let type = text("type"), let from = text("from"), let messageID = text("message_id"),
            let data = entry.fields.first(where: { $0.name == "data" })?.value
        else { throw FanfareClientError(.unexpectedReply, "upstream entry \(entry.id) lacks a field") }
        do {
            dataJSON = String(decoding: data, as: UTF8.self)
            self.data = try JSONParser.parse(data, limits: JSONLimits())
        } catch {
            throw FanfareClientError(.unexpectedReply, "upstream entry \(entry.id) has data that is not JSON: \(error)")
        }
        switch type {
        case "message": receipt = nil
        case "receipt":
            let job = text("job")
            receipt = Receipt(
                status: text("status") ?? "",
                originalMessageID: text("original_message_id") ?? "",
                token: text("token") ?? "",
                job: job,
                index: job == nil ? nil : text("i").flatMap { Int64($0) }
            )
        default: throw FanfareClientError(.unexpectedReply, "upstream entry \(entry.id) has an unknown type")
        }
        id = entry.id
        self.from = from
        category = text("category") ?? ""
        self.messageID = messageID
        receivedMs = text("received_ms").flatMap { Int64($0) }.flatMap { Self.times.contains($0) ? $0 : nil }
    }
}
