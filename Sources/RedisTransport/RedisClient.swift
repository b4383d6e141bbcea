internal import EventLoop
public import OpenSSLKit
public import StreamWire

/// A Redis connection for code that awaits: owns a thread with a loop. For commands of the CLI and for tests, not for
/// the data path.
public final class RedisClient: Sendable {
    private enum Message: Sendable {
        case send(RedisCommand, timeoutMs: Int64?, CheckedContinuation<Result<RedisValue, RedisError>, Never>)
        case close
    }

    private let thread: LoopThread
    private let inbox: Inbox<Message>
    private let isClosed = Locked(false)

    private init(thread: LoopThread, inbox: Inbox<Message>) {
        self.thread = thread
        self.inbox = inbox
    }

    deinit { close() }

    /// Connects, and throws the reason if that fails.
    ///
    /// - Parameter patienceMs: how long a server that is away, loading or busy is tried again before its error is
    ///   thrown. Wrong credentials are thrown at once.
    public static func connect(
        _ endpoint: RedisEndpoint,
        name: String = "fanfare-cli",
        tls: TLSOptions = TLSOptions(),
        timeouts: RedisTimeouts = RedisTimeouts(),
        patienceMs: Int64 = 0
    ) async throws(RedisError) -> RedisClient {
        let inbox = Inbox<Message>()
        let outcome = FirstOutcome()
        let thread: LoopThread
        do throws(SystemError) {
            thread = try LoopThread(name: "redis-client") { loop in
                let session = Session(loop: loop, endpoint: endpoint, name: name, tls: tls, timeouts: timeouts)
                loop.attach(inbox) { message in
                    switch message {
                    case .send(let command, let timeoutMs, let continuation):
                        session.send(command, timeoutMs: timeoutMs) { continuation.resume(returning: $0) }
                    case .close: session.close()
                    }
                }
                session.connect(patienceMs: patienceMs) { outcome.set($0) }
            }
        } catch {
            throw RedisError(.connectionLost, "\(error)")
        }
        let client = RedisClient(thread: thread, inbox: inbox)
        if let error = await outcome.value() {
            client.close()
            throw error
        }
        return client
    }

    /// - Parameter timeoutMs: as ``RedisConnection/send(_:timeoutMs:_:)``.
    public func send(_ command: RedisCommand, timeoutMs: Int64? = nil) async throws(RedisError) -> RedisValue {
        let result = await withCheckedContinuation { continuation in
            // Under the lock: a command behind the last message would never be looked at.
            let isTaken = isClosed.withLock { isClosed in
                if !isClosed { inbox.send(.send(command, timeoutMs: timeoutMs, continuation)) }
                return !isClosed
            }
            if !isTaken { continuation.resume(returning: .failure(RedisError(.notConnected, "closed"))) }
        }
        return try result.get()
    }

    /// Ends the connection and waits for the thread. Safe to call twice.
    public func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            if !isClosed { inbox.send(.close) }
            return !isClosed
        }
        if isFirst { thread.join() }
    }
}

/// What lives on the client's loop. The loop's handlers hold it, so ``close()`` lets go of the loop again, directly
/// and through the connection, or neither would ever be freed.
private final class Session {
    private var loop: EventLoop?
    private var connection: RedisConnection?

    init(loop: EventLoop, endpoint: RedisEndpoint, name: String, tls: TLSOptions, timeouts: RedisTimeouts) {
        self.loop = loop
        connection = RedisConnection(loop: loop, endpoint: endpoint, name: name, tls: tls, timeouts: timeouts) {
            Double.random(in: 0..<1)
        }
    }

    func connect(patienceMs: Int64, _ outcome: @escaping (RedisError?) -> Void) {
        let start = EventLoop.readClock()
        connection?.onStateChange = { state in
            switch state {
            case .connecting: break
            case .ready: outcome(nil)
            case .failed(let error): outcome(error)
            case .unavailable(let error):
                let waitedMs = (EventLoop.readClock() - start) / 1_000_000
                if waitedMs >= UInt64(max(0, patienceMs)) { outcome(error) }
            case .closed: outcome(RedisError(.notConnected, "closed"))
            }
        }
        connection?.connect()
    }

    func send(_ command: RedisCommand, timeoutMs: Int64?, _ completion: @escaping RedisConnection.Completion) {
        guard let connection else { return completion(.failure(RedisError(.notConnected, "closed"))) }
        connection.send(command, timeoutMs: timeoutMs, completion)
    }

    func close() {
        connection?.close()
        connection = nil
        loop?.stop()
        loop = nil
    }
}

/// The first word on how connecting went, carried from the loop to the task that waits for it.
private final class FirstOutcome: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<RedisError?, Never>)
        case known(RedisError?)
    }

    private let state = Locked(State.open)

    /// Later words are not of interest.
    func set(_ error: RedisError?) {
        let waiting = state.withLock { state -> CheckedContinuation<RedisError?, Never>? in
            if case .known = state { return nil }
            defer { state = .known(error) }
            if case .awaited(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(returning: error)
    }

    func value() async -> RedisError? {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> RedisError?? in
                if case .known(let error) = state { return .some(error) }
                state = .awaited(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
