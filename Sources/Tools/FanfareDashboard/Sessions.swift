/// The browsers that have shown the token, and the wrong ones that were shown. Kept in memory: a dashboard that is
/// started again asks once more.
actor Sessions {
    private static let maxSessions = 256
    private static let lasts = Duration.seconds(12 * 3_600)
    /// Wrong tokens within ``window`` that are noted one by one.
    private static let maxFailures = 10
    private static let window = Duration.seconds(60)

    private var ends: [String: Duration] = [:]
    private var failures: [Duration] = []
    private var isTooMany = false
    /// Gets whom a wrong token came from, and whether there are now too many to note more of them.
    private let onWrongToken: @Sendable (_ peer: String, _ isTooMany: Bool) -> Void

    init(onWrongToken: @escaping @Sendable (String, Bool) -> Void) { self.onWrongToken = onWrongToken }

    /// Takes down a wrong token, wherever it was shown.
    ///
    /// - Parameter now: of a clock that nobody sets.
    /// - Returns: false when there were too many of late.
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

    /// For who has shown the right token: however many wrong ones came, from whomever, they keep nobody out.
    func open(now: Duration) -> String {
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.maxSessions, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
        ends[name] = now + Self.lasts
        return name
    }

    func isOpen(_ name: String, now: Duration) -> Bool { ends[name].map { $0 > now } ?? false }

    func close(_ name: String) { ends[name] = nil }
}
