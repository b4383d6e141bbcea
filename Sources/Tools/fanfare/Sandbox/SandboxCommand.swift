internal import ArgumentParser
internal import FanfareJSON
internal import FanfareSandbox
internal import Logging

struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Runs the FCM simulator.",
        discussion: """
            Before it listens it writes DIR/ca.pem and, for each project, DIR/service-account-<project>.json, \
            DIR/server-key-<project> and DIR/sender-id-<project>: a worker and Google's own SDKs can be pointed at it. \
            Tokens that start with sbx- misbehave as their names say, such as sbx-unregistered-1 or sbx-unavailable-2-x.

            Examples:
              fanfare sandbox --state sandbox --project demo
              fanfare sandbox --state sandbox --project demo --port 0 --control-port 0 --json
              fanfare sandbox --state sandbox --project demo --quota-per-minute 60000 --fanout-rate 1000
              curl http://127.0.0.1:8480/stats
              curl -d '{"topic":"news","subscribers":20000}' http://127.0.0.1:8480/devices
              curl http://127.0.0.1:8480/fanouts
              curl -d '{"from":"a","data":{"k":"v"}}' http://127.0.0.1:8480/upstream
              curl -X POST http://127.0.0.1:8480/drain
            """
    )

    @Option(help: ArgumentHelp("The TLS port (HTTP/2 and HTTP/1.1); 0 takes a free one.", valueName: "n"))
    var port = 8443

    @Option(help: ArgumentHelp("The control port, plain HTTP on loopback; 0 takes a free one.", valueName: "n"))
    var controlPort = 8480

    @Option(
        help: ArgumentHelp(
            "The XMPP port; 0 takes a free one. Default: \(SandboxOptions.defaultXMPPPort), a free one with --port 0.",
            valueName: "n"
        )
    )
    var xmppPort: Int?

    @Option(help: ArgumentHelp("The address of the TLS ports.", valueName: "address"))
    var listen = "127.0.0.1"

    @Option(
        help: ArgumentHelp("The folder for certificates and credentials; made if it is missing.", valueName: "dir"),
        completion: .directory
    )
    var state: String

    @Option(help: ArgumentHelp("A project id; may be repeated.", valueName: "id"))
    var project: [String]

    @Option(help: ArgumentHelp("What chance is drawn from.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "Each project's send quota, refilled in full every 60 seconds from its first send.",
            valueName: "n"
        )
    )
    var quotaPerMinute = 600_000

    @Flag(help: "Retryable errors come without Retry-After.")
    var bareErrors = false

    @Option(help: ArgumentHelp("Seconds an access token lives, at most 3600.", valueName: "n"))
    var tokenLifetime = 3_600

    @Option(
        help: ArgumentHelp(
            "Recipients a second that all topic, condition and group sends of a project reach together.",
            valueName: "n"
        )
    )
    var fanoutRate = 10_000

    @Flag(help: "A fan-out beyond a project's 1000 active ones waits, rather than being refused.")
    var deferFanouts = false

    @Flag(help: "Print the addresses as one JSON object.")
    var json = false

    func run() async throws {
        var options = SandboxOptions(stateDirectory: state, projects: project)
        options.port = port
        options.controlPort = controlPort
        options.xmppPort = xmppPort
        options.listen = listen
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
        let ports: SandboxPorts
        do {
            ports = try await sandbox.start()
        } catch let error as SandboxError where error.isUnavailable {
            throw Outcome.unavailable.because("sandbox: \(error)")
        } catch {
            throw Outcome.failed.because("sandbox: \(error)")
        }
        let signals = StopSignals { Task { await sandbox.stop() } }
        defer { signals.cancel() }
        report(ports)
        do {
            try await sandbox.run()
        } catch {
            throw Outcome.failed.because("sandbox: \(error)")
        }
    }

    private func report(_ ports: SandboxPorts) {
        if json {
            let object: JSONObject = [
                "port": .number(JSONNumber(Int64(ports.data))),
                "xmpp_port": .number(JSONNumber(Int64(ports.xmpp))),
                "control_port": .number(JSONNumber(Int64(ports.control))),
                "state": .string(state),
            ]
            Console.line(JSONValue.object(object).jsonText)
        } else {
            Console.line("FCM: https://localhost:\(ports.data), its CA is \(state)/ca.pem")
            Console.line("XMPP: localhost:\(ports.xmpp), TLS from the first byte")
            Console.line("control: http://127.0.0.1:\(ports.control)")
        }
    }
}
