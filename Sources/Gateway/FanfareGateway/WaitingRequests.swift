internal import NIOConcurrencyHelpers

/// Counts the requests of a gateway that wait for results, whichever API they belong to.
final class WaitingRequests: Sendable {
    private let maximum: Int
    private let number = NIOLockedValueBox(0)

    init(maximum: Int) { self.maximum = maximum }

    var count: Int { number.withLockedValue { $0 } }

    /// - Returns: false if as many as may wait do. Otherwise ``leave()`` ends the wait.
    func enter() -> Bool {
        number.withLockedValue { number in
            guard number < maximum else { return false }
            number += 1
            return true
        }
    }

    func leave() { number.withLockedValue { $0 -= 1 } }
}
