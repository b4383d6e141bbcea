internal import EventLoop
public import OpenSSLKit
public import StreamWire

/// Redis for code that awaits: owns a thread with a loop. For producers and operators, not for the data path.
///
/// In a cluster each command goes to the node that has its key, over one connection for each slot that is used.
public final class RedisClient: Sendable {
    private typealias Request = @Sendable (ClientSession) -> Void

    private let thread: LoopThread
    private let inbox: Inbox<Request>
    private let isClosed = Locked(false)

    private init(thread: LoopThread, inbox: Inbox<Request>) {
        self.thread = thread
        self.inbox = inbox
    }

    deinit { close() }

    /// Connects, and throws the reason if that fails.
    ///
    /// - Parameter patienceMs: how long a server that is away, loading or busy is tried again before its error is
    ///   thrown. Wrong credentials are thrown at once. With Sentinels and in a cluster it is also how long a command is
    ///   tried again that no server has taken: while another primary is being chosen, or a slot is on its way.
    public static func connect(
        _ deployment: RedisDeployment,
        name: String = "fanfare-cli",
        tls: TLSOptions = TLSOptions(),
        timeouts: RedisTimeouts = RedisTimeouts(),
        patienceMs: Int64 = 0
    ) async throws(RedisError) -> RedisClient {
        let inbox = Inbox<Request>()
        let (outcomes, outcome) = AsyncStream<RedisError?>.makeStream()
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
                loop.attach(inbox) { request in request(session) }
                session.connect { outcome.yield($0) }
            }
        } catch {
            throw RedisError(.connectionLost, "\(error)")
        }
        let client = RedisClient(thread: thread, inbox: inbox)
        // Only the first outcome counts; a cancelled task gets none.
        if let error = await outcomes.first(where: { _ in true }) ?? RedisError(.notConnected, "cancelled") {
            client.close()
            throw error
        }
        return client
    }

    /// - Parameter timeoutMs: as ``RedisConnection/send(_:timeoutMs:_:)``.
    public func send(_ command: RedisCommand, timeoutMs: Int64? = nil) async throws(RedisError) -> RedisValue {
        try await run { $0.send(command, timeoutMs: timeoutMs, $1) }
    }

    /// Every server that accepts writes: the primaries of a cluster, or the one server.
    ///
    /// - Parameter keys: in a cluster, only the primaries of these keys' slots; empty for all primaries.
    public func primaries(having keys: [String] = []) async throws(RedisError) -> [RedisEndpoint] {
        try await run { $0.primaries(having: keys, $1) }
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (ClientSession, @escaping (Result<Value, RedisError>) -> Void) -> Void
    ) async throws(RedisError) -> Value {
        let result = await withCheckedContinuation { continuation in
            // Under the lock: a command after the closing would never be answered.
            let isSent = isClosed.withLock { isClosed in
                if !isClosed { inbox.send { session in body(session) { continuation.resume(returning: $0) } } }
                return !isClosed
            }
            if !isSent { continuation.resume(returning: .failure(RedisError(.notConnected, "closed"))) }
        }
        return try result.get()
    }

    /// Ends the connection and waits for the thread. Safe to call twice.
    public func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            if !isClosed { inbox.send { $0.close() } }
            return !isClosed
        }
        if isFirst { thread.join() }
    }
}
