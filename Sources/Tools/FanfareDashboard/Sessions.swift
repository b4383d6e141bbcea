/// The open sessions, and the recent wrong tokens. Kept in memory: after a restart users log in again.
actor Sessions {
    private static let maxSessions = 256
    private static let lifetime = Duration.seconds(12 * 3_600)
    /// Wrong tokens within ``window`` that are accepted as attempts and logged one by one.
    private static let maxFailures = 10
    private static let window = Duration.seconds(60)

    private var ends: [String: Duration] = [:]
    private var failures: [Duration] = []
    private var isTooMany = false
    /// Called for a wrong token with its peer. `isTooMany` is true once, when further ones are no longer logged.
    private let onWrongToken: @Sendable (_ peer: String, _ isTooMany: Bool) -> Void

    init(onWrongToken: @escaping @Sendable (String, Bool) -> Void) { self.onWrongToken = onWrongToken }

    /// Counts a wrong token.
    ///
    /// - Parameter now: the time of a monotonic clock.
    /// - Returns: false if there were too many recently.
    func refuse(peer: String, now: Duration) -> Bool {
        failures.removeAll { $0 + Self.window <= now }
        guard failures.count < Self.maxFailures else {
            if !isTooMany { onWrongToken(peer, true) }
            isTooMany = true
            return false
        }
        isTooMany = false
        failures.append(now)
        onWrongToken(peer, false)
        return true
    }

    /// Opens a session for the right token, however many wrong tokens came before.
    func open(now: Duration) -> String {
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.maxSessions, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
        ends[name] = now + Self.lifetime
        return name
    }

    func isOpen(_ name: String, now: Duration) -> Bool { ends[name].map { $0 > now } ?? false }

    func close(_ name: String) { ends[name] = nil }
}
