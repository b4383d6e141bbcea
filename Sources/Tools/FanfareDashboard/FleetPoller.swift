internal import FanfareClient

/// Reads the fleet each second, once for all who look at it.
struct FleetPoller<Redis: RedisSending>: Sendable {
    let reader: FleetReader<Redis>
    let hub: FleetHub
    /// What people are told of an error.
    let explain: @Sendable (any Error) -> String

    static var interval: Duration { .seconds(1) }

    /// Until the task is cancelled.
    func run() async {
        var meter = FleetMeter()
        while !Task.isCancelled {
            let begun = ContinuousClock.now
            do {
                let snapshot = try await reader.read()
                meter.add(snapshot)
                await hub.publish(snapshot, meter)
            } catch {
                await hub.publish(trouble: explain(error))
            }
            try? await Task.sleep(until: begun + Self.interval)
        }
        await hub.close()
    }
}
