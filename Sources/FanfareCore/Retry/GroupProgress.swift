public import FanfareModel

/// How far a send to a device group has come after FCM reached only some of its members: the others are addressed one by
/// one. It waits in Redis in the place of the group's key, so that a crash loses none of it.
public struct GroupProgress: Equatable, Sendable {
    /// The group's `notification_key`.
    public var key: String
    /// Of the answer for the group.
    public var messageID: String
    /// Members to be sent to once more.
    public var pending: [String]
    /// Members whose last attempt failed for good, with the errors that say why.
    public private(set) var failed: [Member]

    public struct Member: Equatable, Sendable {
        public var token: String
        /// What it failed with; nil when the tries were over.
        public var error: ErrorCode?
        /// The app should forget the token.
        public var isDead: Bool

        public init(token: String, error: ErrorCode?, isDead: Bool) {
            self.token = token
            self.error = error
            self.isDead = isDead
        }
    }

    public init(key: String, messageID: String, pending: [String]) {
        self.key = key
        self.messageID = messageID
        self.pending = pending
        failed = []
    }

    /// What one attempt to reach a member came to. A member of which nobody knows counts among those that were not
    /// reached: a result can name it there or be silent.
    ///
    /// - Returns: the retry that it asks for; nil when there is none to be made.
    public mutating func note(_ verdict: Verdict, of token: String) -> Retry? {
        switch verdict {
        case .retry(let retry): return retry
        case .refreshCredential(let failure), .blockProject(let failure):
            return Retry(failure: failure, cause: .refused, floorMs: 1_000, countsAttempt: false)
        case .sent, .sentPartly, .managed: remove(token)
        case .failed(let failure):
            remove(token)
            failed.append(Member(token: token, error: failure.error, isDead: failure.action == .remove))
        case .unknown:
            remove(token)
            failed.append(Member(token: token, error: nil, isDead: false))
        }
        return nil
    }

    /// The tries are over.
    public mutating func giveUp() {
        failed += pending.map { Member(token: $0, error: nil, isDead: false) }
        pending = []
    }

    public var failedTokens: [String] { failed.map(\.token) }

    private mutating func remove(_ token: String) {
        if let at = pending.firstIndex(of: token) { pending.remove(at: at) }
    }
}

extension GroupProgress {
    /// As it is kept: key, pending and failed members, and the message's id, which may hold anything. Keys and tokens
    /// have neither blanks nor commas nor exclamation marks.
    public var text: String {
        let lost = failed.map { "\($0.token)!\($0.error?.rawValue ?? "")!\($0.isDead ? "1" : "0")" }
        return "\(key) \(pending.joined(separator: ",")) \(lost.joined(separator: ",")) \(messageID)"
    }

    /// Nil for a group that was not sent to yet: a bare key.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        key = String(parts[0])
        pending = parts[1].split(separator: ",").map(String.init)
        failed = parts[2].split(separator: ",").map { member in
            let facts = member.split(separator: "!", omittingEmptySubsequences: false)
            return Member(
                token: String(facts[0]),
                error: facts.count > 1 ? ErrorCode(rawValue: String(facts[1])) : nil,
                isDead: facts.count > 2 && facts[2] == "1"
            )
        }
        messageID = String(parts[3])
    }

    /// The group's key in what is kept of it, whether it was sent to or not.
    public static func key(in text: String) -> String {
        String(text.prefix { $0 != " " })
    }
}
