public import EventLoop
public import OpenSSLKit
internal import StreamWire

extension RedisConnection {
    /// Connects to the server of a deployment that is the right one at each connect.
    ///
    /// - Parameters:
    ///   - key: in a cluster, a key of the slot that this connection is for; nil: any primary.
    ///   - staysWithMovingSlot: an `ASK` leaves the connection as it is; otherwise it ends it, as `MOVED` does.
    ///   - others: as for one server.
    public convenience init(
        loop: EventLoop,
        deployment: RedisDeployment,
        key: String? = nil,
        staysWithMovingSlot: Bool = false,
        name: String,
        tls: TLSOptions = TLSOptions(),
        timeouts: RedisTimeouts = RedisTimeouts(),
        limits: RedisLimits = RedisLimits(),
        random: @escaping () -> Double
    ) {
        let locator: any ServerLocator
        var timeouts = timeouts
        switch deployment.form {
        case .server: locator = FixedLocator(deployment.server)
        case .sentinel(let primary):
            timeouts.maxBackoffMs = min(timeouts.maxBackoffMs, Self.mostBackoffMs)
            locator = SentinelLocator(
                loop: loop,
                sentinels: deployment.nodes,
                primary: primary,
                server: deployment.server,
                tls: tls,
                patienceMs: timeouts.connectMs,
                random: random
            )
        case .cluster:
            locator = ClusterLocator(
                loop: loop,
                seeds: deployment.nodes,
                server: deployment.server,
                slot: key.map { HashSlot(key: $0) },
                staysWithMovingSlot: staysWithMovingSlot,
                tls: tls,
                patienceMs: timeouts.connectMs,
                random: random
            )
        }
        self.init(
            loop: loop,
            server: deployment.server,
            locator: locator,
            name: name,
            tls: tls,
            timeouts: timeouts,
            limits: limits,
            random: random
        )
    }

    /// The longest backoff with Sentinels, in milliseconds: all workers have to reach a new primary at about the same
    /// time.
    private static let mostBackoffMs: Int64 = 1_000

    /// The Sentinels' latest answers about the primary in use; nil without Sentinels, and before they were asked.
    public var sentinelState: SentinelState? { locator.sentinelState }

    func locate(_ attempt: UInt64) {
        locator.locate { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let server):
                endpoint = server
                startReconsidering()
                resolve(attempt)
            case .failure(let error):
                perform(machine.resolveFailed(attempt: attempt, error: error, random: random()))
            }
        }
    }

    func handleFailure(_ error: RedisError) {
        let isElsewhere = machine.isReady && locator.shouldRelocate(after: error, by: endpoint)
        perform(
            machine.commandFailed(
                error,
                isElsewhere: isElsewhere,
                hasMore: !pending.isEmpty,
                nowMs: nowMs,
                random: random()
            )
        )
    }

    /// Checks at an interval whether this is still the right server, also while connecting to it: a frozen server accepts the
    /// connection when it is thawed, and may have been replaced meanwhile.
    func startReconsidering() {
        guard let interval = locator.reconsiderMs else { return }
        if let reconsidering { loop.cancel(reconsidering) }
        reconsidering = loop.every(milliseconds: interval) { [weak self] in
            guard let self else { return }
            let generation = generation
            locator.reconsider { [weak self] server in
                guard let self, self.generation == generation, server.address != endpoint.address else { return }
                lose(RedisError(.readOnly, "the Sentinels name another primary now: \(server.authority)"))
            }
        }
    }
}
