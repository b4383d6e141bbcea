internal import ArgumentParser
internal import FanfareJSON
internal import FanfareSandbox
internal import Logging

struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Runs the FCM simulator.",
        discussion: """
            In the sandbox any string is a valid token. Tokens that start with sbx- fail as their names say, such as \
            sbx-unregistered-1 or sbx-unavailable-2-x. Before it listens, it writes DIR/ca.pem and, for each project, \
            DIR/service-account-<project>.json, DIR/server-key-<project> and DIR/sender-id-<project>, for workers and \
            Google's own SDKs. Runs until SIGTERM or SIGINT, then exits with 0; with 69 if a port is taken.

            Examples:
              fanfare sandbox
              fanfare sandbox --state sandbox --project demo --port 0 --json
              fanfare sandbox --state sandbox --project demo --quota-per-minute 60000
              curl http://127.0.0.1:8480/stats
              curl -d '{"topic":"news","subscribers":20000}' http://127.0.0.1:8480/devices
              curl http://127.0.0.1:8480/fanouts
              curl -d '{"from":"a","data":{"k":"v"}}' http://127.0.0.1:8480/upstream
              curl -X POST http://127.0.0.1:8480/drain
            """
    )

    @Option(help: .value("n", "The TLS port (HTTP/2 and HTTP/1.1); 0 takes a free port."))
    var port = 8443

    @Option(help: .value("n", "The control port, plain HTTP; 0 takes a free port."))
    var controlPort = 8480

    @Option(
        help: .value(
            "n",
            "The XMPP port; 0 takes a free port. Default: \(SandboxOptions.defaultXMPPPort), or a free port with --port 0."
        )
    )
    var xmppPort: Int?

    @Option(help: .value("address", "The address of the TLS ports."))
    var listen = "127.0.0.1"

    @Option(help: .value("address", "The address of the control port, which asks for no password."))
    var controlListen = "127.0.0.1"

    @Option(help: .value("url", "The token_uri of the credentials. Default: https://localhost:PORT/token."))
    var tokenUri: String?

    @Option(
        help: .value("dir", "The folder for certificates and credentials; created if missing."),
        completion: .directory
    )
    var state = "sandbox"

    @Option(help: .value("id", "A project id; may be repeated. Default: my-app, as in the file that init writes."))
    var project: [String] = []

    @Option(help: .value("n", "Seed of the random numbers."))
    var seed: UInt64 = 1

    @Option(help: .value("n", "Send quota of each project, refilled in full every 60 seconds after its first send."))
    var quotaPerMinute = 600_000

    @Flag(help: "Send retryable errors without Retry-After.")
    var bareErrors = false

    @Option(help: .value("n", "Lifetime of an access token in seconds, at most 3600."))
    var tokenLifetime = 3_600

    @Option(
        help: .value("n", "Rate of all topic, condition and group sends of a project together, in recipients a second.")
    )
    var fanoutRate = 10_000

    @Flag(help: "Queue fan-outs beyond a project's 1000 active ones instead of refusing them.")
    var deferFanouts = false

    @Flag(help: "Print the addresses as one JSON object.")
    var json = false

    func run() async throws {
        var options = SandboxOptions(stateDirectory: state, projects: project.isEmpty ? ["my-app"] : project)
        options.port = port
        options.controlPort = controlPort
        options.xmppPort = xmppPort
        options.listen = listen
        options.controlListen = controlListen
        options.tokenURI = tokenUri
        options.seed = seed
        options.quotaPerMinute = quotaPerMinute
        options.bareErrors = bareErrors
        options.tokenLifetimeSeconds = tokenLifetime
        options.fanoutRate = fanoutRate
        options.deferFanouts = deferFanouts
        do throws(SandboxError) {
            try options.check()
        } catch {
            throw Outcome.usage.because("sandbox: --\(error)")
        }
        let logger = LogOutput.logger(.warning)
        let sandbox = Sandbox(options: options, logger: logger)
        do {
            let ports = try await sandbox.start()
            let signals = StopSignals { Task { await sandbox.stop() } }
            defer { signals.cancel() }
            report(ports)
            try await sandbox.run()
        } catch let error as SandboxError where error.isUnavailable {
            throw Outcome.unavailable.because("sandbox: \(error)")
        } catch {
            throw Outcome.failed.because("sandbox: \(error)")
        }
    }

    private func report(_ ports: SandboxPorts) {
        if json {
            Console.json([
                "port": .number(JSONNumber(Int64(ports.data))),
                "xmpp_port": .number(JSONNumber(Int64(ports.xmpp))),
                "control_port": .number(JSONNumber(Int64(ports.control))),
                "state": .string(state),
            ])
        } else {
            Console.line("FCM: https://localhost:\(ports.data), its CA is \(state)/ca.pem")
            Console.line("XMPP: localhost:\(ports.xmpp), TLS from the first byte")
            Console.line("control: http://127.0.0.1:\(ports.control)")
        }
    }
}
