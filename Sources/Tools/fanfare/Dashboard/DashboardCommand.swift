internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareDashboard
internal import RedisTransport

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Serves a web page that shows and controls the fleet.",
        discussion: """
            Shows projects with active and waiting fan-outs, charts, workers, jobs with their results, and dead jobs; pauses, \
            resumes, cancels, replays and drops them. It may be started before Redis, and needs no worker.

            If only this machine can reach it, it needs no token. Otherwise give one in a file or in \
            \(DashboardToken.variable), and put a TLS proxy before it: the page itself is plain HTTP.

            `sent` means accepted by FCM, not delivered and not shown.

            Examples:
              fanfare dashboard
              fanfare dashboard --listen 0.0.0.0:8490 --token-file dashboard-token --read-only
              fanfare dashboard --allow-host board.example.com --token-file dashboard-token
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: ArgumentHelp("Address to listen on; port 0 takes a free port.", valueName: "host:port"))
    var listen = "127.0.0.1:8490"

    @Flag(help: "Show everything, change nothing.")
    var readOnly = false

    @Option(
        help: ArgumentHelp("A file with the access token, 16 characters or more.", valueName: "file"),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp("A host name of a proxy on this machine; may be repeated.", valueName: "name")
    )
    var allowHost: [String] = []

    func validate() throws {
        guard case .tcp? = ListenAddress(listen) else { throw ValidationError("--listen must be host:port") }
    }

    func run() async throws {
        let configuration = try options.load()
        guard case .tcp(let host, let port)? = ListenAddress(listen) else { return }
        let settings = DashboardOptions(
            host: host,
            port: port,
            isReadOnly: readOnly,
            token: try DashboardToken.read(file: tokenFile),
            allowedHosts: allowHost.map { $0.lowercased() },
            prefix: configuration.prefix,
            projects: configuration.projects.map(\.id)
        )
        if let refusal = settings.refusal {
            let remedy = "set one with --token-file FILE or \(DashboardToken.variable)"
            throw Outcome.configuration.because("dashboard: \(refusal); \(remedy)")
        }
        if !settings.isLoopback {
            ConfigurationOptions.warn([
                "the token and all data cross the network unencrypted; use a TLS proxy"
            ])
        }
        let dashboard = try Self.dashboard(settings, configuration)
        let serving = Task {
            try await dashboard.run { port in
                let isAddress = host.contains(":")
                Console.error("dashboard: http://\(isAddress ? "[\(host)]" : host):\(port)")
            }
        }
        let signals = StopSignals { serving.cancel() }
        defer { signals.cancel() }
        do {
            try await serving.value
        } catch {
            if serving.isCancelled { return }
            throw Outcome.unavailable.because("dashboard: \(error); choose another with --listen")
        }
    }

    static func dashboard(
        _ settings: DashboardOptions,
        _ configuration: Configuration
    ) throws -> Dashboard<RedisClient> {
        let deployment = try RedisSession.deployment(configuration)
        return Dashboard(
            options: settings,
            logger: LogOutput.logger(configuration.log),
            connect: { try await RedisSession.connect(deployment, configuration) },
            explain: { error in
                guard let error = error as? RedisError else { return "\(error)" }
                return error.code == .functionNotFound
                    ? "Redis: \(RedisSession.missingFunctions)" : "Redis at \(deployment): \(error)"
            }
        )
    }
}
