internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareDashboard
internal import FoundationEssentials
internal import Glibc
internal import RedisTransport

struct DashboardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Serves a web page that shows and controls the fleet.",
        discussion: """
            Shows projects with active and waiting fan-outs, charts, workers, jobs with their results, and dead jobs; pauses, \
            resumes, cancels, replays and drops them. It may be started before Redis, and needs no worker.

            If only this machine can reach it, it needs no token. Otherwise give one in a file or in \
            \(tokenVariable), and put a TLS proxy before it: the page itself is plain HTTP.

            `sent` means accepted by FCM, not delivered and not shown.

            Examples:
              fanfare dashboard
              fanfare dashboard --listen 0.0.0.0:8490 --token-file board-token --read-only
              fanfare dashboard --allow-host board.example.com --token-file board-token
            """
    )

    private static let tokenVariable = "FANFARE_DASHBOARD_TOKEN"

    @OptionGroup var options: ConfigurationOptions

    @Option(help: .value("host:port", "Address to listen on; port 0 takes a free port."))
    var listen = "127.0.0.1:8490"

    @Flag(help: "Show everything, change nothing.")
    var readOnly = false

    @Option(
        help: .value("file", "A file with the access token, 16 characters or more."),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: .value("file", "A file with a token that opens /metrics alone, for Prometheus."),
        completion: .file()
    )
    var metricsTokenFile: String?

    @Option(help: .value("name", "A host name of a proxy on this machine; may be repeated."))
    var allowHost: [String] = []

    @Option(help: .value("name", "The header in which that proxy sets the user's name, for the audit list."))
    var userHeader: String?

    func validate() throws {
        guard case .tcp? = ListenAddress(listen) else { throw ValidationError("--listen must be host:port") }
    }

    func run() async throws {
        let configuration = try options.load()
        guard case .tcp(let host, let port)? = ListenAddress(listen) else { return }
        var settings = DashboardOptions()
        settings.host = host
        settings.port = port
        settings.isReadOnly = readOnly
        settings.token = try Self.token(file: tokenFile)
        settings.metricsToken = try metricsTokenFile.map { try Self.token(file: $0, option: "--metrics-token-file") }
        settings.allowedHosts = allowHost.map { $0.lowercased() }
        settings.userHeader = userHeader
        if let fault = settings.fault {
            let remedy = "set one with --token-file FILE or \(Self.tokenVariable)"
            throw Outcome.configuration.because("dashboard: \(fault); \(remedy)")
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

    /// Reads the access token from its file or the environment; nil if none is given.
    static func token(file: String?) throws -> String? {
        guard let file else {
            let given = ProcessInfo.processInfo.environment[tokenVariable] ?? ""
            return given.isEmpty ? nil : given
        }
        return try token(file: file, option: "--token-file")
    }

    private static func token(file: String, option: String) throws -> String {
        let source = ConfiguredFile(name: option, path: file)
        let content: FileContent
        do throws(ConfigurationError) {
            content = try source.read(limit: 4_096)
        } catch {
            throw Outcome.configuration.because("\(error)")
        }
        let words = String(decoding: content.bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard !words.isEmpty else { throw Outcome.configuration.because("\(source): the file is empty") }
        guard words.count == 1 else {
            throw Outcome.configuration.because("\(source): the file must hold one token and nothing else")
        }
        if content.isReadableByOthers { ConfigurationOptions.warn([source.tooOpen.sentence]) }
        return String(words[0])
    }

    static func dashboard(
        _ settings: DashboardOptions,
        _ configuration: Configuration
    ) throws -> Dashboard<RedisClient> {
        let deployment = try configuration.deployment()
        var settings = settings
        settings.prefix = configuration.prefix
        settings.projects = configuration.projects.map(\.id)
        return Dashboard(
            options: settings,
            logger: LogOutput.logger(configuration.log),
            connect: { try await RedisSession.connect(deployment, configuration) },
            explain: { error in
                guard let error = error as? RedisError else { return "\(error)" }
                return error.code == .functionNotFound
                    ? "Redis: \(RedisSession.missingFunctions)" : "Redis at \(deployment): \(error)"
            },
            examine: { try await RedisReport.object(configuration, deployment) }
        )
    }
}
