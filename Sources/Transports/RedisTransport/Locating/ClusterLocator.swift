internal import EventLoop
internal import OpenSSLKit
internal import StreamWire

/// Finds the node that has one slot of a cluster.
///
/// A `MOVED` names the next node; after a `CLUSTERDOWN` the map is read again. `ASK` is never followed: a function touches
/// keys that it does not name, and while a slot moves they are on two nodes. The old node answers every function call with
/// `ASK` until its last key has gone, since no key is named like a project's base. After `ASK` a caller with unconfirmed
/// commands begins with a new connection.
final class ClusterLocator: ServerLocator {
    private let loop: EventLoop
    private let deployment: RedisDeployment
    /// nil for any primary.
    private let slot: HashSlot?
    private let staysWithMovingSlot: Bool
    private let tls: TLSOptions
    private let patienceMs: Int64
    private var poll: ServerPoll<RedisValue>?
    /// Nodes of the latest map; the configured ones may all have left the cluster.
    private var known: [RedisEndpoint.Address] = []
    /// Node that a `MOVED` named; used once, since it may be wrong.
    private var hint: RedisEndpoint.Address?

    /// Nodes queried at once, chosen at random each time.
    private static let width = 5

    init(
        loop: EventLoop,
        deployment: RedisDeployment,
        slot: HashSlot?,
        staysWithMovingSlot: Bool,
        tls: TLSOptions,
        patienceMs: Int64
    ) {
        self.loop = loop
        self.deployment = deployment
        self.slot = slot
        self.staysWithMovingSlot = staysWithMovingSlot
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
        if let hint {
            self.hint = nil
            return answer(.success(deployment.server.at(hint)))
        }
        let candidates = candidates()
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
            answer(found)
        }
        self.poll = isAnswered ? nil : poll
    }

    func close() {
        poll?.close()
        poll = nil
    }

    private func find(
        in result: Result<RedisValue, RedisError>,
        from node: RedisEndpoint
    ) -> Result<RedisEndpoint, RedisError> {
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
            return .success(deployment.server.at(address))
        }
    }

    private func candidates() -> [RedisEndpoint] {
        let configured = deployment.nodes.map(\.address)
        let all = configured + known.filter { !configured.contains($0) }
        return all.shuffled().prefix(Self.width).map { deployment.server.at($0) }
    }
}
