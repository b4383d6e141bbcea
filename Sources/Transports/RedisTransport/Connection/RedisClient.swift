internal import EventLoop
public import OpenSSLKit
public import StreamWire

/// Redis for code that awaits: owns a thread with a loop. For producers and operators, not for the data path.
///
/// In a cluster each command goes to the node that has its key, over one connection for each slot that is used.
public final class RedisClient: Sendable {
    private enum Message: Sendable {
        case send(RedisCommand, timeoutMs: Int64?, CheckedContinuation<Result<RedisValue, RedisError>, Never>)
        case primaries(having: [String], CheckedContinuation<Result<[RedisEndpoint], RedisError>, Never>)
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

    /// Connects to one server, and throws the reason if that fails.
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
        try await connect(RedisDeployment(endpoint), name: name, tls: tls, timeouts: timeouts, patienceMs: patienceMs)
    }

    /// Connects to whatever form of deployment.
    ///
    /// - Parameter patienceMs: as for one server. With Sentinels and in a cluster it is also how long a command is tried
    ///   again that no server has taken: while another primary is being chosen, or a slot is on its way.
    public static func connect(
        _ deployment: RedisDeployment,
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
                let session = ClientSession(
                    loop: loop,
                    deployment: deployment,
                    name: name,
                    tls: tls,
                    timeouts: timeouts,
                    patienceMs: patienceMs
                )
                loop.attach(inbox) { message in
                    switch message {
                    case .send(let command, let timeoutMs, let continuation):
                        session.send(command, timeoutMs: timeoutMs) { continuation.resume(returning: $0) }
                    case .primaries(let keys, let continuation):
                        session.primaries(having: keys) { continuation.resume(returning: $0) }
                    case .close: session.close()
                    }
                }
                session.connect { outcome.set($0) }
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
            if !enqueue(.send(command, timeoutMs: timeoutMs, continuation)) {
                continuation.resume(returning: .failure(RedisError(.notConnected, "closed")))
            }
        }
        return try result.get()
    }

    /// Every server that takes writes, for what has to be done on each: the primaries of a cluster, or the one there is.
    ///
    /// - Parameter keys: of a cluster only the primaries of these keys' slots; none: all of them.
    public func primaries(having keys: [String] = []) async throws(RedisError) -> [RedisEndpoint] {
        let result = await withCheckedContinuation { continuation in
            if !enqueue(.primaries(having: keys, continuation)) {
                continuation.resume(returning: .failure(RedisError(.notConnected, "closed")))
            }
        }
        return try result.get()
    }

    private func enqueue(_ message: Message) -> Bool {
        // Under the lock: a command behind `.close` would never be answered.
        isClosed.withLock { isClosed in
            if !isClosed { inbox.send(message) }
            return !isClosed
        }
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

/// The first outcome of connecting, carried from the loop to the task that awaits it.
private final class FirstOutcome: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<RedisError?, Never>)
        case known(RedisError?)
    }

    private let state = Locked(State.open)

    /// Only the first call counts.
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
