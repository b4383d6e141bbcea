package import FanfareModel

/// One connection's share of a pool: its state, and the requests that it carries. ``LaneState`` decides.
///
/// A lane numbers its requests from 0 and reuses a number when its request has ended, so an engine may keep an array.
package final class Lane {
    struct Entry {
        var waiting: WaitingRequest
        /// When the lane got the request, in monotonic milliseconds.
        var addedAtMs: Int64
    }

    /// The lane's number in its group of pools.
    let id: Int
    package var state: LaneState
    /// Why the connection ended, or could not be made; nil while neither is known.
    package var reason: Reason?
    /// Set by the pool while the lane is on its list of work.
    var isListed = false
    /// Set once, right after the lane was made.
    var connection: (any LaneConnection)?
    private var entries: [Entry?] = []
    private var free: [Int] = []
    private let onWork: (Lane) -> Void

    /// Bytes of unfinished answers that the group was told of.
    var chargedBytes = 0

    init(id: Int, state: LaneState, onWork: @escaping (Lane) -> Void) {
        self.id = id
        self.state = state
        self.onWork = onWork
    }

    /// Has the pool pump the lane at the turn's end.
    package func enlist() { if !isListed { onWork(self) } }

    /// Closes the connection, after its last request has ended.
    func close() {
        connection?.close()
        connection = nil
    }

    /// Keeps a request under a number of its own.
    func add(_ waiting: WaitingRequest, nowMs: Int64) -> Int {
        let entry = Entry(waiting: waiting, addedAtMs: nowMs)
        state.recordAdded()
        if let number = free.popLast() {
            entries[number] = entry
            return number
        }
        entries.append(entry)
        return entries.count - 1
    }

    /// Removes and returns the request of that number.
    func remove(_ number: Int) -> WaitingRequest {
        guard let entry = entries[number] else { preconditionFailure("request \(number) has ended before") }
        entries[number] = nil
        free.append(number)
        return entry.waiting
    }

    /// Numbers of the requests for which `body` is true, in ascending order.
    func numbers(where body: (Int, Entry) -> Bool) -> [Int] {
        guard state.inFlight > 0 else { return [] }
        return entries.indices.filter { number in entries[number].map { body(number, $0) } ?? false }
    }
}
