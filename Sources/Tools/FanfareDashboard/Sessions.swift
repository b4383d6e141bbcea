internal import FanfareModel
internal import Logging

/// The open sessions, and the recent wrong tokens. Kept in memory: after a restart users log in again.
actor Sessions {
    private static let maximumSessions = 256
    private static let lifetime = Duration.seconds(12 * 3_600)
    /// Wrong tokens within ``window`` that are accepted as attempts and logged one by one.
    private static let maximumFailures = 10
    private static let window = Duration.seconds(60)

    private var ends: [String: Duration] = [:]
    private var failures: [Duration] = []
    private var isTooMany = false
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Counts a wrong token.
    ///
    /// - Parameter now: the time of a monotonic clock.
    /// - Returns: false if there were too many recently.
    func refuse(peer: String, now: Duration) -> Bool {
        failures.removeAll { $0 + Self.window <= now }
        guard failures.count < Self.maximumFailures else {
            if !isTooMany {
                logger.warning(
                    "The dashboard refused too many wrong tokens; it logs no more of them for a minute.",
                    metadata: ["peer": "\(peer)"]
                )
            }
            isTooMany = true
            return false
        }
        isTooMany = false
        failures.append(now)
        logger.warning("The dashboard refused a wrong token.", metadata: ["peer": "\(peer)"])
        return true
    }

    /// Opens a session for the right token, however many wrong tokens came before.
    func open(now: Duration) -> String {
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.maximumSessions, let oldest = ends.min(by: { $0.value < $1.value }) {
            ends[oldest.key] = nil
        }
        let name = (0..<32).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
        ends[name] = now + Self.lifetime
        return name
    }

    func isOpen(_ name: String, now: Duration) -> Bool { ends[name].map { $0 > now } ?? false }

    func close(_ name: String) { ends[name] = nil }
}
