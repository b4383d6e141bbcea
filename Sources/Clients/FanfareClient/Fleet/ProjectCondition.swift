public import StreamWire

extension ProjectSnapshot {
    /// The state of a project in one word, and its reason.
    public struct Condition: Equatable, Sendable {
        /// `unreadable`, `paused`, `blocked`, `unreachable`, `backpressure`, `held`, `unserved`, `waiting`, `working` or
        /// `idle`. `waiting`: each open job is paused, scheduled or outside its send window.
        public var word: String
        public var reason: String?
        /// When it began, Unix milliseconds; nil if that is not known.
        public var sinceMs: Int64?

        public init(word: String, reason: String? = nil, sinceMs: Int64? = nil) {
            self.word = word
            self.reason = reason
            self.sinceMs = sinceMs
        }
    }

    public var condition: Condition {
        if let fault { return Condition(word: "unreadable", reason: fault) }
        var condition = overview.condition
        // Nothing was claimed since the oldest job was pushed, or since the last worker died.
        if condition.word == "unserved", oldestWaitMs > 0 { condition.sinceMs = overview.nowMs - oldestWaitMs }
        return condition
    }
}

extension OverviewReply {
    public var condition: ProjectSnapshot.Condition {
        typealias Condition = ProjectSnapshot.Condition
        if isPaused { return Condition(word: "paused", reason: pauseReason) }
        if !blockReason.isEmpty { return Condition(word: "blocked", reason: blockReason) }
        let sinceMs = unreachableSinceMs > 0 ? unreachableSinceMs : nil
        if isUnreachable { return Condition(word: "unreachable", reason: unreachable, sinceMs: sinceMs) }
        if let pressureText { return Condition(word: "backpressure", reason: pressureText) }
        if holdMs > 0 {
            return Condition(word: "held", reason: "FCM asked to wait, for another \((holdMs + 999) / 1_000) s")
        }
        guard entries + open > 0 else { return Condition(word: "idle") }
        if workersAlive == 0 { return Condition(word: "unserved", reason: "no worker serves the project") }
        if entries == 0, resting.all >= open { return Condition(word: "waiting", reason: resting.text) }
        if !unreachable.isEmpty { return working(unreachable, sinceMs: sinceMs) }
        return working(isRecovering ? "slowly, after a hold" : paceReason)
    }

    /// The state of a project that sends. Jobs that are paused stand in its reason.
    private func working(_ reason: String, sinceMs: Int64? = nil) -> ProjectSnapshot.Condition {
        let parts = [resting.pausedText ?? "", reason].filter { !$0.isEmpty }
        return .init(word: "working", reason: parts.isEmpty ? nil : parts.joined(separator: "; "), sinceMs: sinceMs)
    }
}
