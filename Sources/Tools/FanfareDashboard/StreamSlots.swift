internal import Synchronization

/// The browsers that may follow the picture at once; each costs a connection and a task.
final class StreamSlots: Sendable {
    private let most: Int
    private let taken = Mutex(0)

    init(most: Int) { self.most = most }

    var areTaken: Bool { taken.withLock { $0 >= most } }

    /// nil when there is none left.
    func take() -> Seat? {
        let isFree = taken.withLock { taken in
            guard taken < most else { return false }
            taken += 1
            return true
        }
        return isFree ? Seat(self) : nil
    }

    fileprivate func giveBack() { taken.withLock { $0 -= 1 } }
}

/// Given back with its last reference: also where the browser went before its answer began.
final class Seat: Sendable {
    private let seats: StreamSlots

    fileprivate init(_ seats: StreamSlots) { self.seats = seats }

    deinit { seats.giveBack() }
}
