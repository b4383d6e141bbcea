/// Decides when a worker takes over entries that another consumer read and did not hand over, and how many at once.
///
/// A worker asks once every half lease unless the project is quiet. While there is more, it asks again 20 ms after the
/// answer, but not before it has read what it was given: other workers have room, too.
public struct ReclaimPlan: Sendable {
    public enum Event: Sendable {
        /// Half a lease has passed since the last one.
        case due(ReadPlan.Demand)
        /// The time of ``Action/wait(ms:)`` is over.
        case waited(ReadPlan.Demand)
        /// - Parameters:
        ///   - cursor: where the next search begins; the start of the stream when this one reached its end.
        ///   - count: entries that were given to this consumer.
        case answered(cursor: String, count: Int)
    }

    public enum Action: Equatable, Sendable {
        case claim(cursor: String, count: Int)
        case wait(ms: Int64)
        /// This consumer has been given entries and has to read them.
        case leftoversFound
    }

    private static let start = "0-0"
    private static let most = 64
    /// From so many on a consumer is likely to have left more: it must not be emptied by a handful a lease.
    private static let many = 32
    private static let pauseMs: Int64 = 20

    private var cursor = start
    /// There is more to take over.
    public private(set) var isWaiting = false

    public init() {}

    public mutating func handle(_ event: Event, into actions: inout [Action]) {
        switch event {
        case .due(let demand): claim(demand, &actions)
        case .waited(let demand):
            isWaiting = false
            if !claim(demand, &actions) { wait(&actions) }
        case .answered(let cursor, let count):
            self.cursor = cursor
            if count > 0 { actions.append(.leftoversFound) }
            if count >= Self.many || cursor != Self.start { wait(&actions) }
        }
    }

    @discardableResult
    private func claim(_ demand: ReadPlan.Demand, _ actions: inout [Action]) -> Bool {
        guard demand.room > 0, demand.leftovers == .none else { return false }
        actions.append(.claim(cursor: cursor, count: min(Self.most, demand.room)))
        return true
    }

    private mutating func wait(_ actions: inout [Action]) {
        guard !isWaiting else { return }
        isWaiting = true
        actions.append(.wait(ms: Self.pauseMs))
    }
}
