public import FanfareModel
public import StreamWire

/// An entry of a project's `feedback` stream: a recipient that the application should remove or replace.
public struct FeedbackEntry: Equatable, Sendable {
    /// An open set: later versions may add actions.
    public struct Action: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The recipient can no longer receive messages.
        public static let remove = Action(rawValue: "remove")
        /// The app instance now has the token ``FeedbackEntry/replacement``.
        public static let replace = Action(rawValue: "replace")
    }

    public var id: String
    /// A token or a fid.
    public var recipient: String
    public var kind: RecipientKind
    public var action: Action
    public var replacement: String?
    /// The error that caused it; nil with ``Action/replace``.
    public var error: String?
    public var job: String

    /// - Throws: ``FanfareClientError`` if no worker wrote the entry.
    public init(_ entry: StreamEntry) throws(FanfareClientError) {
        func field(_ name: String) -> String? {
            entry.text(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let action = field("action"), let job = field("job"), let recipient = field("token") ?? field("fid")
        else { throw FanfareClientError(.unexpectedReply, "feedback entry \(entry.id) lacks a field") }
        id = entry.id
        self.recipient = recipient
        kind = field("token") == nil ? .fid : .token
        self.action = Action(rawValue: action)
        replacement = field("replacement")
        error = field("error")
        self.job = job
    }
}

/// A page of a project's `feedback` stream.
public struct FeedbackPage: Equatable, Sendable {
    public var entries: [FeedbackEntry] = []
    /// The last entry that was looked at: where the next page begins.
    public var last: String?
}

extension FanfareProducer {
    /// Reads the entries of `feedback` that the stream still holds, oldest first, without a consumer group. Entries that no
    /// worker wrote are left out.
    /// - Parameters:
    ///   - after: the id of an entry; nil for the oldest.
    ///   - limit: entries at most.
    public func feedback(after: String? = nil, limit: Int = 1_000) async throws -> FeedbackPage {
        let start = after.map { "(" + $0 } ?? "-"
        let command = RedisCommand("XRANGE", keys.feedback, start, "+", "COUNT", "\(limit)")
        let entries = (try await redis.reply(to: command).array ?? []).compactMap { StreamEntry($0) }
        return FeedbackPage(entries: entries.compactMap { try? FeedbackEntry($0) }, last: entries.last?.id)
    }
}
