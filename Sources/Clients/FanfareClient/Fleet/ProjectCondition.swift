internal import StreamWire

extension ProjectSnapshot {
    /// The state of a project in one word, and its reason.
    public struct Condition: Equatable, Sendable {
        /// `paused`, `blocked`, `pressed`, `held`, `unserved`, `working` or `idle`.
        public var word: String
        public var reason: String?
    }

    public var condition: Condition {
        if overview.isPaused { return Condition(word: "paused", reason: overview.pauseReason) }
        if !overview.blockReason.isEmpty { return Condition(word: "blocked", reason: overview.blockReason) }
        if !overview.pressure.isEmpty { return Condition(word: "pressed", reason: overview.pressure) }
        if overview.holdMs > 0 { return Condition(word: "held", reason: "FCM asked to wait") }
        let isBusy = overview.entries + overview.open > 0
        if isBusy, workersAlive == 0 { return Condition(word: "unserved", reason: "no worker is alive") }
        let isSlow = isBusy && overview.isRecovering
        return Condition(word: isBusy ? "working" : "idle", reason: isSlow ? "slowly, after a hold" : nil)
    }
}
