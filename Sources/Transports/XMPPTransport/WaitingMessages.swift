/// A message that no connection has taken yet.
struct WaitingMessage {
    var tag: UInt64
    var messageID: String
    var json: [UInt8]
    var deadlineMs: Int64
}

/// Messages in order of arrival.
struct WaitingMessages {
    private var messages: [WaitingMessage] = []
    private var head = 0

    var count: Int { messages.count - head }
    var isEmpty: Bool { count == 0 }
    var first: WaitingMessage? { isEmpty ? nil : messages[head] }

    mutating func append(_ message: WaitingMessage) { messages.append(message) }

    mutating func popFirst() -> WaitingMessage? {
        guard let first else { return nil }
        head += 1
        if head == messages.count {
            messages.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 512 {
            messages.removeFirst(head)
            head = 0
        }
        return first
    }
}
