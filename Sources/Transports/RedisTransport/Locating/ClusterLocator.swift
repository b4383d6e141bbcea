internal import EventLoop
internal import OpenSSLKit
internal import StreamWire

/// Finds the node that has one slot of a cluster.
///
/// A `MOVED` names the next node; a `CLUSTERDOWN` means that the map is asked for again. `ASK` is never followed from here:
/// a function touches keys that it does not name, and while a slot moves they are on two nodes. No key is named like a
/// project's base. So the node that gives a slot away answers every function call with `ASK`, before anything of it is
/// run, until the last key has gone. After `ASK` a caller with unconfirmed commands begins with a new connection.
final class ClusterLocator: ServerLocator {
    private let loop: EventLoop
    private let seeds: [RedisEndpoint]
    private let server: RedisEndpoint
    /// nil for any primary.
    private let slot: HashSlot?
    private let staysWithMovingSlot: Bool
    private let tls: TLSOptions
    private let patienceMs: Int64
    private let random: () -> Double
    private var poll: ServerPoll<RedisValue>?
    /// Nodes of the latest map; the configured ones may all have left the cluster.
    private var known: [RedisEndpoint.Address] = []
    /// Node that a `MOVED` named; used once, since it may be wrong.
    private var hint: RedisEndpoint.Address?

    /// Nodes that are asked at once, drawn anew each time.
    private static let width = 5

    init(
        loop: EventLoop,
        seeds: [RedisEndpoint],
        server: RedisEndpoint,
        slot: HashSlot?,
        staysWithMovingSlot: Bool,
        tls: TLSOptions,
        patienceMs: Int64,
        random: @escaping () -> Double
    ) {
        self.loop = loop
        self.seeds = seeds
        self.server = server
        self.slot = slot
        self.staysWithMovingSlot = staysWithMovingSlot
        self.tls = tls
        self.patienceMs = patienceMs
        self.random = random
    }

    var reconsiderMs: Int64? { nil }
    // A replica answers whatever needs the primary with MOVED.
    var mustBePrimary: Bool { false }
    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void) {}

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
            return answer(.success(server.at(hint)))
        }
        var open = 0
        var isAnswered = false
        let candidates = candidates()
        open = candidates.count
        let poll = ServerPoll(
            loop: loop,
            servers: candidates,
            tls: tls,
            patienceMs: patienceMs,
            request: { $0.send(RedisCommand("CLUSTER", "SLOTS"), $1) },
            random: random
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
            return .success(server.at(address))
        }
    }

    private func candidates() -> [RedisEndpoint] {
        var all = seeds.map(\.address)
        all += known.filter { !all.contains($0) }
        var chosen: [RedisEndpoint] = []
        while !all.isEmpty, chosen.count < Self.width {
            chosen.append(server.at(all.remove(at: min(all.count - 1, Int(random() * Double(all.count))))))
        }
        return chosen
    }
}
