public import FanfareJSON
public import StreamWire

/// An entry of a project's `upstream` stream: a message from an app, or a delivery receipt from FCM, over XMPP.
public struct UpstreamEntry: Equatable, Sendable {
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
        guard let type = entry.text("type"), let from = entry.text("from"), let messageID = entry.text("message_id"),
            let data = entry["data"]
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
            let job = entry.text("job")
            receipt = Receipt(
                status: entry.text("status") ?? "",
                originalMessageID: entry.text("original_message_id") ?? "",
                token: entry.text("token") ?? "",
                job: job,
                index: job == nil ? nil : entry.text("i").flatMap { Int64($0) }
            )
        default: throw FanfareClientError(.unexpectedReply, "upstream entry \(entry.id) has an unknown type")
        }
        id = entry.id
        self.from = from
        category = entry.text("category") ?? ""
        self.messageID = messageID
        receivedMs = entry.text("received_ms").flatMap { Int64($0) }
            .flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil }
    }
}
