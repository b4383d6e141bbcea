internal import EventLoop
internal import StreamWire

/// The connections of a ``RedisClient``, on its loop. The loop's handlers hold the session, so ``close()`` releases the loop;
/// otherwise neither would ever be freed.
final class ClientSession {
    typealias Completion = RedisConnection.Completion

    private struct Call {
        let command: RedisCommand
        let timeoutMs: Int64?
        /// Loop time up to which it is tried again.
        let deadline: UInt64
        let completion: Completion
    }

    private var loop: EventLoop?
    private let deployment: RedisDeployment
    private let name: String
    private let tls: TLSOptions
    private let timeouts: RedisTimeouts
    private let patienceMs: Int64
    private var first: RedisConnection?
    /// Connections of a cluster, by slot.
    private var links: [HashSlot: RedisConnection] = [:]
    /// Connections to nodes that import a slot, by authority: for commands that `ASK` redirects.
    private var asides: [String: RedisConnection] = [:]
    /// Calls that wait to be tried again, so that closing can answer them.
    private var paused: [UInt64: (Call, Result<RedisValue, RedisError>)] = [:]
    private var pauses: UInt64 = 0

    private static let pauseMs: Int64 = 50

    init(
        loop: EventLoop,
        deployment: RedisDeployment,
        name: String,
        tls: TLSOptions,
        timeouts: RedisTimeouts,
        patienceMs: Int64
    ) {
        self.loop = loop
        self.deployment = deployment
        self.name = name
        self.tls = tls
        self.timeouts = timeouts
        self.patienceMs = max(0, patienceMs)
        first = connection(on: loop, to: deployment)
    }

    private func connection(on loop: EventLoop, to deployment: RedisDeployment, key: String? = nil) -> RedisConnection {
        RedisConnection(
            loop: loop,
            deployment: deployment,
            key: key,
            staysWithMovingSlot: true,
            name: name,
            tls: tls,
            timeouts: timeouts
        )
    }

    func connect(_ outcome: @escaping (RedisError?) -> Void) {
        let start = SystemClock.bootNs
        let patienceMs = UInt64(patienceMs)
        first?.onStateChange = { state in
            switch state {
            case .connecting: break
            case .ready: outcome(nil)
            case .failed(let error): outcome(error)
            case .unavailable(let error):
                let waitedMs = (SystemClock.bootNs - start) / 1_000_000
                if waitedMs >= patienceMs { outcome(error) }
            case .closed: outcome(RedisError(.notConnected, "closed"))
            }
        }
        first?.connect()
    }

    func send(_ command: RedisCommand, timeoutMs: Int64?, _ completion: @escaping Completion) {
        guard let first else { return completion(.failure(RedisError(.notConnected, "closed"))) }
        if deployment.form == .server { return first.send(command, timeoutMs: timeoutMs, completion) }
        // A connection that is opened for the first command of its slot needs its time too.
        let patience = UInt64(max(patienceMs, timeouts.connectMs)) * 1_000_000
        attempt(
            Call(
                command: command,
                timeoutMs: timeoutMs,
                deadline: SystemClock.bootNs + patience,
                completion: completion
            )
        )
    }

    private func attempt(_ call: Call) {
        guard let connection = connection(for: call.command) else {
            return call.completion(.failure(RedisError(.notConnected, "closed")))
        }
        if case .failed(let error) = connection.state { return call.completion(.failure(error)) }
        connection.send(call.command, timeoutMs: call.timeoutMs) { [weak self] result in
            self?.answered(call, result, by: connection.endpoint)
        }
    }

    private func answered(_ call: Call, _ result: Result<RedisValue, RedisError>, by server: RedisEndpoint) {
        guard case .failure(let error) = result, let loop, Self.wasNotApplied(error),
            SystemClock.bootNs < call.deadline
        else { return call.completion(result) }
        // The keys of a function may be on both nodes: it waits until the slot has moved.
        if let redirection = Redirection(error), redirection.kind == .ask, !call.command.isFunctionCall,
            let address = redirection.address(from: server.address)
        {
            if sendAsking(call, deployment.server.at(address)) { return }
        }
        pauses += 1
        let pause = pauses
        paused[pause] = (call, result)
        loop.schedule(afterMilliseconds: Self.pauseMs) { [weak self] in
            guard let self, paused.removeValue(forKey: pause) != nil else { return }
            attempt(call)
        }
    }

    /// True when the command was certainly not applied, and may succeed elsewhere or later.
    private static func wasNotApplied(_ error: RedisError) -> Bool {
        guard !error.maybeApplied else { return false }
        switch error.code {
        case .notConnected, .connectionLost, .moved, .ask, .tryAgain, .clusterDown, .readOnly, .masterDown, .loading:
            return true
        default: return false
        }
    }

    private func connection(for command: RedisCommand) -> RedisConnection? {
        guard let loop, deployment.form == .cluster, let key = command.routingKey else { return first }
        let slot = HashSlot(key: key)
        if let link = links[slot] { return link }
        let link = connection(on: loop, to: deployment, key: String(decoding: key, as: UTF8.self))
        links[slot] = link
        link.connect()
        return link
    }

    /// - Returns: false while the node is not connected yet.
    private func sendAsking(_ call: Call, _ node: RedisEndpoint) -> Bool {
        guard let loop else { return false }
        let aside = asides[node.authority] ?? connection(on: loop, to: RedisDeployment(node))
        if asides.updateValue(aside, forKey: node.authority) == nil { aside.connect() }
        guard aside.state == .ready else { return false }
        // It counts for the next command only, so the two must go out together.
        aside.send(RedisCommand("ASKING")) { _ in }
        aside.send(call.command, timeoutMs: call.timeoutMs) { [weak self] result in
            self?.answered(call, result, by: node)
        }
        return true
    }

    func primaries(having keys: [String], _ completion: @escaping (Result<[RedisEndpoint], RedisError>) -> Void) {
        guard let first else { return completion(.failure(RedisError(.notConnected, "closed"))) }
        guard deployment.form == .cluster else { return completion(.success([first.endpoint])) }
        let server = deployment.server
        first.send(RedisCommand("CLUSTER", "SLOTS")) { result in
            completion(
                result.flatMap { value in
                    guard let map = ClusterMap(value, from: first.endpoint.address) else {
                        return .failure(RedisError(.protocolError, "CLUSTER SLOTS gave no map"))
                    }
                    let wanted = keys.map { map.primary(of: HashSlot(key: $0)) }
                    let primaries = map.primaries.filter { keys.isEmpty || wanted.contains($0) }
                    return .success(primaries.map { server.at($0) })
                }
            )
        }
    }

    func close() {
        // First, so that commands which the connections fail are completed and not repeated on a loop that stops.
        let loop = loop
        self.loop = nil
        for (call, result) in paused.values { call.completion(result) }
        paused = [:]
        first?.close()
        first = nil
        for connection in links.values { connection.close() }
        for connection in asides.values { connection.close() }
        links = [:]
        asides = [:]
        loop?.stop()
    }
}
