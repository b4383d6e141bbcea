internal import ArgumentParser
internal import Dispatch
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import Glibc
internal import RedisTransport

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the fleet in the terminal, updated each second.",
        discussion: """
            Shows projects, active and waiting fan-outs, and workers. `q` quits. If the output is no terminal, prints once.

            SENT/S counts messages that FCM accepted, not those that were delivered or shown.

            Examples:
              fanfare top
              fanfare top --once
              fanfare top --json | jq '.projects[] | select(.dead > 0) | .id'
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Measure for a second, print, and exit.")
    var once = false

    @Flag(help: "Print a JSON object each second, or one with --once.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        let isLive = !once && !json && isatty(STDOUT_FILENO) == 1
        let isRepeated = isLive || (json && !once)
        try await RedisSession.run(configuration) { client in
            let reader = FleetReader(
                redis: client,
                prefix: configuration.prefix,
                projects: configuration.projects.map(\.id)
            )
            if isRepeated {
                try await follow(reader, isLive: isLive)
            } else {
                var meter = FleetMeter()
                // A rate needs two snapshots.
                meter.add(try await reader.read())
                try await Task.sleep(for: .seconds(1))
                let snapshot = try await reader.read()
                meter.add(snapshot)
                print(snapshot, meter)
            }
        }
    }

    private func print(_ snapshot: FleetSnapshot, _ meter: FleetMeter) {
        if json { return Console.json(FleetJSON(meter).object(snapshot)) }
        let screen = TopScreen(snapshot: snapshot, meter: meter)
        for line in screen.lines(width: 160, height: nil) { Console.line(line.text) }
    }

    /// Shows the fleet until a key or a signal ends it.
    private func follow(_ reader: FleetReader<RedisClient>, isLive: Bool) async throws {
        let screen = Task {
            var meter = FleetMeter()
            let terminal = isLive ? try TerminalScreen() : nil
            defer { terminal?.restore() }
            var trouble: String?
            var last = FleetSnapshot(projects: [])
            while !Task.isCancelled {
                do {
                    last = try await reader.read()
                    meter.add(last)
                    trouble = nil
                } catch let error as RedisError where error.isTransient && isLive {
                    trouble = "Redis does not answer: \(error)"
                }
                if isLive {
                    terminal?.draw(TopScreen(snapshot: last, meter: meter, trouble: trouble))
                } else {
                    print(last, meter)
                }
                try await Task.sleep(for: .seconds(1))
            }
        }
        let signals = StopSignals { screen.cancel() }
        let quits = Array("qQ".utf8)
        let keys = isLive ? TerminalScreen.watchKeys { if quits.contains($0) { screen.cancel() } } : nil
        defer {
            keys?.cancel()
            signals.cancel()
        }
        do {
            try await screen.value
        } catch is CancellationError {}
    }
}
