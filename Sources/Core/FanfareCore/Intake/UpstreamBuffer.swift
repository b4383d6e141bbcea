internal import DequeModule

/// Decides when messages that devices sent are written to Redis and acknowledged to FCM.
///
/// FCM repeats nothing on a connection that stands, and sends no more on it while a hundred messages wait for their
/// acknowledgement. So a message that could not be written is kept and written later, in the order of arrival.
///
/// ```
/// received ─► waiting ─► in flight ─► acknowledged
///                ▲           │ failed
///                └───────────┘
/// ```
public struct UpstreamBuffer: Sendable {
    public enum Event: Sendable {
        /// - Parameter id: identifies the message until it is acknowledged or given back.
        case received(id: Int, isConnected: Bool)
        case written(id: Int)
        case failed(id: Int)
        /// The time of ``Action/wait(ms:)`` is over.
        case waited(isConnected: Bool)
    }

    public enum Action: Equatable, Sendable {
        case write(id: Int)
        case acknowledge(id: Int)
        /// The buffer is full: FCM sends the message to another connection.
        case giveBack(id: Int)
        case wait(ms: Int64)
    }

    /// The most that FCM sends on ten connections without an acknowledgement.
    public static let most = 1_000
    private static let pauseMs: Int64 = 100

    private var messages: Deque<(id: Int, isInFlight: Bool)> = []
    private var isPausing = false

    public init() {}

    /// Messages that are not written yet.
    public var count: Int { messages.count }

    public mutating func handle(_ event: Event, into actions: inout [Action]) {
        switch event {
        case .received(let id, let isConnected):
            guard messages.count < Self.most else { return actions.append(.giveBack(id: id)) }
            messages.append((id, false))
            write(isConnected, &actions)
        case .written(let id):
            if let index = messages.firstIndex(where: { $0.id == id }) { messages.remove(at: index) }
            actions.append(.acknowledge(id: id))
        case .failed(let id):
            if let index = messages.firstIndex(where: { $0.id == id }) { messages[index].isInFlight = false }
            pause(&actions)
        case .waited(let isConnected):
            isPausing = false
            if !messages.isEmpty { write(isConnected, &actions) }
        }
    }

    private mutating func write(_ isConnected: Bool, _ actions: inout [Action]) {
        // A new message must not overtake one that is written again after the pause.
        guard !isPausing else { return }
        guard isConnected else { return pause(&actions) }
        for index in messages.indices where !messages[index].isInFlight {
            messages[index].isInFlight = true
            actions.append(.write(id: messages[index].id))
        }
    }

    private mutating func pause(_ actions: inout [Action]) {
        guard !isPausing else { return }
        isPausing = true
        actions.append(.wait(ms: Self.pauseMs))
    }
}
