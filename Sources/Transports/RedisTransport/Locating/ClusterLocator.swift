internal import EventLoop
internal import StreamWire

/// Finds the node that has one slot of a cluster.
///
/// A `MOVED` names the next node; after a `CLUSTERDOWN` the map is read again. `ASK` is never followed: a function touches
/// keys that it does not name, and while a slot moves they are on two nodes. The old node answers every function call with
/// `ASK` until its last key has gone, since no key is named like a project's base. After `ASK` a caller with unconfirmed
/// commands begins with a new connection.
///
/// When the old node dies, its replica does not know that the slot was moving and serves the keys that are left. So a
/// caller of functions is not connected while another primary holds keys of the slot too.
final class ClusterLocator: ServerLocator {
    private let loop: EventLoop
    private let deployment: RedisDeployment
    /// nil for any primary.
    private let slot: HashSlot?
    private let staysWithMovingSlot: Bool
    private let requiresWholeSlot: Bool
    private let tls: TLSOptions
    private let patienceMs: Int64
    private var poll: ServerPoll<RedisValue>?
    /// Nodes of the latest map; the configured ones may all have left the cluster.
    private var known: [RedisEndpoint.Address] = []
    /// Node that a `MOVED` named; used once, since it may be wrong.
    private var hint: RedisEndpoint.Address?

    /// Nodes queried at once, chosen at random each time.
    private static let width = 5
    /// Time of the other primaries to count their keys of the slot. One that does not answer delays no connection longer.
    private static let countMs: Int64 = 1_000

    init(
        loop: EventLoop,
        deployment: RedisDeployment,
        slot: HashSlot?,
        staysWithMovingSlot: Bool,
        requiresWholeSlot: Bool,
        tls: TLSOptions,
        patienceMs: Int64
    ) {
        self.loop = loop
        self.deployment = deployment
        self.slot = slot
        self.staysWithMovingSlot = staysWithMovingSlot
        self.requiresWholeSlot = requiresWholeSlot
        self.tls = tls
        self.patienceMs = patienceMs
    }

    func shouldRelocate(after error: RedisError, by server: RedisEndpoint) -> Bool {
        guard let redirection = Redirection(error) else { return error.code == .clusterDown }
        if redirection.kind == .ask { return !staysWithMovingSlot }
        if redirection.slot == slot { hint = redirection.address(from: server.address) }
        return true
    }

    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void) {
        close()
        var candidates = candidates()
        if let hint {
            self.hint = nil
            let server = deployment.server.at(hint)
            guard requiresWholeSlot else { return answer(.success(server)) }
            candidates = [server]
        }
        var open = candidates.count
        var isAnswered = false
        let poll = ServerPoll(
            loop: loop,
            servers: candidates,
            tls: tls,
            patienceMs: patienceMs,
            request: { $0.send(RedisCommand("CLUSTER", "SLOTS"), $1) }
        ) { [weak self] node, result in
            guard let self, !isAnswered else { return }
            open -= 1
            let found = find(in: result, from: node)
            // Only the last failure counts: before it, another node may still answer.
            if case .failure = found, open > 0 { return }
            isAnswered = true
            close()
            switch found {
            case .failure(let error): answer(.failure(error))
            case .success(let (server, others)):
                guard requiresWholeSlot, let slot, !others.isEmpty else { return answer(.success(server)) }
                count(slot, server: server, others: others, answer)
            }
        }
        if !isAnswered { self.poll = poll }
    }

    /// Answers with the server unless another primary has keys of the slot. A primary that does not say so may have some.
    private func count(
        _ slot: HashSlot,
        server: RedisEndpoint,
        others: [RedisEndpoint],
        _ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void
    ) {
        var open = others.count
        poll = ServerPoll(
            loop: loop,
            servers: others,
            tls: tls,
            patienceMs: min(patienceMs, Self.countMs),
            request: { $0.send(RedisCommand("CLUSTER", "COUNTKEYSINSLOT", String(slot.number)), $1) }
        ) { [weak self] node, result in
            guard let self, open > 0 else { return }
            open -= 1
            if let keys = (try? result.get())?.integer, keys > 0 {
                open = 0
                close()
                let text =
                    "\(keys) keys of slot \(slot.number) are on \(node.authority), and \(server.authority) serves it: its "
                    + "migration is not finished, see redis-cli --cluster fix"
                return answer(.failure(RedisError(.clusterDown, text)))
            }
            guard open == 0 else { return }
            close()
            answer(.success(server))
        }
        // All have answered at once.
        if open == 0 { close() }
    }

    func close() {
        poll?.close()
        poll = nil
    }

    private func find(
        in result: Result<RedisValue, RedisError>,
        from node: RedisEndpoint
    ) -> Result<(server: RedisEndpoint, others: [RedisEndpoint]), RedisError> {
        result.mapError { RedisError($0.code, "node at \(node.authority): \($0)") }.flatMap { value in
            guard let map = ClusterMap(value, from: node.address) else {
                return .failure(RedisError(.protocolError, "node at \(node.authority) gives no map of a cluster"))
            }
            if !map.everyone.isEmpty { known = map.everyone }
            guard let address = slot.map({ map.primary(of: $0) }) ?? map.primaries.first else {
                return .failure(
                    RedisError(.clusterDown, "node at \(node.authority) knows no node that serves the slot")
                )
            }
            let others = map.primaries.filter { $0 != address }.map { deployment.server.at($0) }
            return .success((deployment.server.at(address), others))
        }
    }

    private func candidates() -> [RedisEndpoint] {
        let configured = deployment.nodes.map(\.address)
        let all = configured + known.filter { !configured.contains($0) }
        return all.shuffled().prefix(Self.width).map { deployment.server.at($0) }
    }
}
