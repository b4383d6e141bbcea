internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareRedis
internal import Glibc

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the fleet in the terminal, updated each second.",
        discussion: """
            Shows projects, jobs and workers. Keys: arrows select, Enter opens a project, `p` pauses and `r` resumes the \
            selected project or job after a question, `s` sorts, `i` shows idle projects one by one, `?` helps, `q` quits. \
            If the output is no terminal, prints once.

            SENT/S counts messages that FCM accepted, not messages that were delivered or shown.
            With NO_COLOR set and not empty, warnings are bold instead of yellow.

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

    @Flag(help: "Show each idle project, not a line for all of them.")
    var idle = false

    @Flag(help: "Show only: no selection, and no key that changes anything.")
    var readOnly = false

    func run() async throws {
        let configuration = try options.load()
        let isTerminal = isatty(STDOUT_FILENO) == 1
        try await RedisSession.run(configuration) { client in
            let reader = FleetReader(
                redis: client,
                prefix: configuration.prefix,
                projects: configuration.projects.map(\.id)
            )
            if isTerminal, !once, !json {
                let live = TopLive(client: client, prefix: configuration.prefix, reader: reader)
                try await live.run(isReadOnly: readOnly, showsIdle: idle)
            } else if json, !once {
                try await repeatJSON(reader)
            } else {
                var meter = FleetMeter()
                // A rate needs two snapshots.
                meter.add(try await reader.read())
                try await Task.sleep(for: .seconds(1))
                let snapshot = try await reader.read()
                meter.add(snapshot)
                print(snapshot, meter, width: isTerminal ? TerminalScreen.size.columns : nil)
            }
        }
    }

    private func print(_ snapshot: FleetSnapshot, _ meter: FleetMeter, width: Int? = nil) {
        if json { return Console.json(FleetJSON(meter).object(snapshot)) }
        var screen = TopScreen(snapshot: snapshot, meter: meter)
        screen.state.showsIdle = idle
        for line in screen.lines(width: width, height: nil) { Console.line(line.text) }
    }

    /// Prints an object each second until a signal.
    private func repeatJSON(_ reader: FleetReader<RedisClient>) async throws {
        let printing = Task {
            var meter = FleetMeter()
            while true {
                let snapshot = try await reader.read()
                meter.add(snapshot)
                print(snapshot, meter)
                try await Task.sleep(for: .seconds(1))
            }
        }
        let signals = StopSignals { printing.cancel() }
        defer { signals.cancel() }
        do {
            try await printing.value
        } catch is CancellationError {}
    }
}
