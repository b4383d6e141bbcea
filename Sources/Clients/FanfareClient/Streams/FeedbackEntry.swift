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
