internal import FanfareClient

/// Reads the fleet each second and publishes it to all browsers.
struct FleetPoller<Redis: RedisSending>: Sendable {
    let reader: FleetReader<Redis>
    let hub: FleetHub
    /// The text of an error for users.
    let explain: @Sendable (any Error) -> String

    static var interval: Duration { .seconds(1) }

    /// Polls until the task is cancelled.
    func run() async {
        var meter = FleetMeter()
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                let snapshot = try await reader.read()
                meter.add(snapshot)
                await hub.publish(snapshot, meter)
            } catch {
                await hub.publish(trouble: explain(error))
            }
            try? await Task.sleep(until: start + Self.interval)
        }
        await hub.close()
    }
}
