internal import EventLoop

extension RedisConnection {
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
                nowMs: loop.nowMs,
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
