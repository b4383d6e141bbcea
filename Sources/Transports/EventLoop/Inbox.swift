internal import CLinux
internal import Glibc

/// The descriptor that ends a loop's wait from another thread.
final class Wakeup: Sendable {
    let fd: Int32

    init() throws(SystemError) {
        fd = clinux_eventfd()
        guard fd >= 0 else { throw SystemError(call: "eventfd", code: errno) }
    }

    deinit { _ = Glibc.close(fd) }

    func signal() {
        var one: UInt64 = 1
        _ = write(fd, &one, 8)
    }

    func clear() {
        var count: UInt64 = 0
        _ = read(fd, &count, 8)
    }
}

/// Messages from any thread to one loop, in order. The only part of a loop that other threads may hold.
public final class Inbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var wakeup: Wakeup?
        /// True from the first message until a drain finds the inbox empty, so a burst costs one wake-up.
        var signalled = false
    }

    private let state = Locked(State())

    public init() {}

    public func send(_ message: Message) {
        let wakeup = state.withLock { state -> Wakeup? in
            state.messages.append(message)
            guard !state.signalled, let wakeup = state.wakeup else { return nil }
            state.signalled = true
            return wakeup
        }
        wakeup?.signal()
    }

    func connect(_ wakeup: Wakeup) {
        let waiting = state.withLock { state in
            state.wakeup = wakeup
            state.signalled = !state.messages.isEmpty
            return state.signalled
        }
        // Messages from before the loop existed are delivered too.
        if waiting { wakeup.signal() }
    }

    func removeFirst(limit: Int) -> (batch: [Message], more: Bool) {
        state.withLock { state in
            if state.messages.count <= limit {
                let batch = state.messages
                state.messages = []
                state.signalled = false
                return (batch, false)
            }
            let batch = Array(state.messages.prefix(limit))
            state.messages.removeFirst(limit)
            return (batch, true)
        }
    }
}
