/// Decides when a connection is asked for a sign of life, and when it is given up.
///
/// TCP notices packets that are not confirmed. A proxy that confirms them and passes nothing on is noticed here.
struct ConnectionHealth: Equatable {
    enum Action: Equatable { case none, ping, giveUp }

    /// Silence with requests in flight after which the peer is asked, in milliseconds.
    static let quietMs: Int64 = 5_000

    /// How long the peer may take to answer a PING, in milliseconds.
    let answerMs: Int64
    private var lastReceivedMs: Int64
    private var pingedMs: Int64?

    init(answerMs: Int64, nowMs: Int64) {
        self.answerMs = answerMs
        lastReceivedMs = nowMs
    }

    /// Bytes arrived; what they say does not matter.
    mutating func received(nowMs: Int64) {
        lastReceivedMs = nowMs
        pingedMs = nil
    }

    /// The first request after a while without any: the silence before says nothing.
    mutating func restart(nowMs: Int64) {
        if pingedMs == nil { lastReceivedMs = nowMs }
    }

    /// - Parameter isBusy: whether requests are in flight. An idle connection may be silent.
    mutating func tick(isBusy: Bool, nowMs: Int64) -> Action {
        if let pingedMs { return nowMs - pingedMs >= answerMs ? .giveUp : .none }
        guard isBusy else {
            lastReceivedMs = nowMs
            return .none
        }
        guard nowMs - lastReceivedMs >= min(Self.quietMs, answerMs) else { return .none }
        pingedMs = nowMs
        return .ping
    }
}
