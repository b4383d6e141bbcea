/// The browsers that have shown the token. Kept in memory: a dashboard that is started again asks once more.
actor Sessions {
    private static let most = 256
    private static let lasts = Duration.seconds(12 * 3_600)
    /// Wrong tokens within ``window`` before nobody is listened to for the rest of it: guessing does not pay.
    private static let mostFailures = 10
    private static let window = Duration.seconds(60)

    private var ends: [String: Duration] = [:]
    private var failures: [Duration] = []

    enum Opening: Equatable {
        case opened(String)
        case wrong
        case tooMany
    }

    /// - Parameters:
    ///   - isRight: whether the token was.
    ///   - now: of a clock that nobody sets.
    func open(isRight: Bool, now: Duration) -> Opening {
        failures.removeAll { $0 + Self.window <= now }
        guard failures.count < Self.mostFailures else { return .tooMany }
        guard isRight else {
            failures.append(now)
            return .wrong
        }
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.most, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
        var generator = SystemRandomNumberGenerator()
        let name = (0..<4).map { _ in
            let word = String(UInt64.random(in: 0 ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
        ends[name] = now + Self.lasts
        return .opened(name)
    }

    func isOpen(_ name: String, now: Duration) -> Bool { ends[name].map { $0 > now } ?? false }

    func close(_ name: String) { ends[name] = nil }
}
