internal import FanfareCore

/// What a closed project leaves to its next runner on the same connection.
struct ClosedProject {
    /// Results that Redis confirmed in the last seconds and may still lose.
    var replayBuffer: ReplayBuffer
    /// Whether Redis was replaced since the project was closed.
    var missedFailover: Bool
}
