public import FanfareModel
internal import StreamWire

/// What a project's kept results and feedback say about one token or installation id.
public struct TokenStory: Equatable, Sendable {
    /// The result of one recipient of a job.
    public struct Delivery: Equatable, Sendable {
        public var job: String
        /// The recipient's index in the order the producer gave.
        public var index: Int64
        public var status: ResultStatus
        public var error: String?
        /// FCM's own error code.
        public var rawError: String?
        /// The recommended action: `none`, `remove`, `replace`, `fix_message` or `fix_credentials`; nil for most `sent`.
        public var action: String?
        public var attempts: Int64
        /// When the result was written, Unix milliseconds.
        public var atMs: Int64
        /// True if the recipient may have got the message more than once.
        public var maybeDup: Bool
        /// FCM's id of the message; empty if the body of FCM's answer was lost.
        public var messageID: String?
        /// The token to use from now on.
        public var canonical: String?
        /// The id of the entry of `results`.
        public var entryID: String
    }

    /// What `feedback` told the application to do with the token.
    public struct Feedback: Equatable, Sendable {
        public var action: FeedbackEntry.Action
        public var replacement: String?
        /// The error that caused it; nil with `replace`.
        public var error: String?
        public var job: String
        /// When the entry was written, Unix milliseconds.
        public var atMs: Int64
        /// The id of the entry of `feedback`.
        public var entryID: String
    }

    public var project: String
    /// Newest first.
    public var jobs: [Delivery] = []
    /// Newest first.
    public var feedback: [Feedback] = []
    /// What is not kept, or was not searched: one sentence each.
    public var notes: [String] = []
    /// When the oldest kept result was written, Unix milliseconds; nil when no result is kept.
    public var keptSinceMs: Int64?
    /// True if everything that is kept was searched. If false, ``cursor`` continues the search.
    public var isWhole = true
    /// Where the next call continues; nil when everything was searched. Its form may change with each version.
    public var cursor: String?

    public init(project: String) { self.project = project }

    public var isEmpty: Bool { jobs.isEmpty && feedback.isEmpty }

    /// A token as output shows it: its first six characters and its length.
    public static func masked(_ token: String) -> String { "\(token.prefix(6))…[\(token.count) characters]" }

    /// Whether a text can be the ``cursor`` of a story.
    package static func isCursor(_ text: String) -> Bool { TokenCursor(text) != nil }
}

extension TokenStory.Delivery {
    init(_ result: JobResult, _ entry: ResultEntry) {
        job = entry.job
        index = result.index
        status = result.status
        error = result.error
        rawError = result.rawError
        action = result.action
        attempts = result.attempts
        atMs = StreamEntry.milliseconds(ofID: entry.id) ?? 0
        maybeDup = result.mayBeDuplicate
        messageID = result.messageID
        canonical = result.canonical
        entryID = entry.id
    }
}

extension TokenStory.Feedback {
    init(_ entry: FeedbackEntry) {
        action = entry.action
        replacement = entry.replacement
        error = entry.error
        job = entry.job
        atMs = StreamEntry.milliseconds(ofID: entry.id) ?? 0
        entryID = entry.id
    }
}
