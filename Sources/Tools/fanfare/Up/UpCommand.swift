internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel
internal import FoundationEssentials
internal import Glibc

struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Runs the whole system on this machine: Redis, a worker, the dashboard and the gateway.",
        discussion: """
            Starts a private redis-server, whose data survives in the state folder, a worker and the dashboard; without a \
            configuration also the FCM simulator, so that it needs no Google account. Prints the addresses and a first \
            push. What dies is started again. Runs until SIGTERM or SIGINT: then the worker drains, and everything ends.

            The gateway serves FCM's API over HTTP. Without a configuration, its first key is made with the first start and \
            printed once. With one, it runs if gateway.keys_dir is set.

            The configuration is that of --config, of FANFARE_CONFIG, or ./fanfare.yaml; its redis.url is not used. Redis \
            listens on a socket in the state folder, which only this user can enter, and with --redis-port also on \
            127.0.0.1, without a password.

            Exits with 0 after it was stopped, with 69 if redis-server is missing or an address is taken, and with 78 if \
            the configuration cannot be used.

            Examples:
              fanfare up
              fanfare up --state /var/lib/fanfare/up --config fanfare.yaml --redis-port 6390
            """
    )

    @Option(help: .value("dir", "The folder for all data; created if missing."), completion: .directory)
    var state = "fanfare-state"

    @Option(
        name: [.short, .long],
        help: .value("file", "The configuration. Default: FANFARE_CONFIG, then ./fanfare.yaml, else the simulator."),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    @Option(help: .value("n", "Redis listens on this port of 127.0.0.1, too."))
    var redisPort: Int?

    @Option(help: .value("host:port", "Address of the dashboard; one of other machines needs FANFARE_DASHBOARD_TOKEN."))
    var dashboard = "127.0.0.1:8490"

    @Option(help: .value("host:port", "Address of the gateway. Default: gateway.listen, which is 127.0.0.1:8470."))
    var gateway: String?

    @Option(help: .value("n", "The simulator's TLS port."))
    var sandboxPort = 8443

    @Option(help: .value("n", "The simulator's control port."))
    var controlPort = 8480

    private static let project = "my-app"

    func validate() throws {
        guard case .tcp? = ListenAddress(dashboard) else { throw ValidationError("--dashboard must be host:port") }
        if let gateway, ListenAddress(gateway) == nil { throw ValidationError("--gateway must be host:port") }
        for (name, port) in [("redis", redisPort ?? 1), ("sandbox", sandboxPort), ("control", controlPort)] {
            guard (1...65_535).contains(port) else { throw ValidationError("--\(name)-port must be 1 to 65535") }
        }
    }

    func run() async throws {
        let folder = try UpFolder(state)
        defer { folder.close() }
        guard PrivateRedis.isInstalled else { throw PrivateRedis.missing }
        let given = givenConfiguration
        // Read here first, so that a mistake is said once and before anything runs. The simulator's files come later.
        let configuration = given == nil ? nil : try load(given, redis: folder.redisURL)
        var gateway = self.gateway(configuration)
        let ports =
            [("dashboard", ListenAddress(dashboard)), ("gateway", gateway?.address)]
            + (given == nil ? sandboxAddresses : [])
        for case (let option, let address?) in ports where UpRun.accepts(address) {
            throw Outcome.unavailable.because("\(address) is taken: choose another with --\(option)")
        }
        let sandbox = sandbox(folder)
        if given == nil {
            try sandbox.writeConfiguration(redis: folder.redisURL)
            try gateway?.makeKey(in: folder.path + "/" + UpGateway.keysFolder, project: Self.project)
        }
        let file = given ?? sandbox.file
        let run = UpRun(
            programs: programs(folder, file, given == nil ? sandbox : nil, gateway),
            supervisor: Supervisor(
                Supervisor.Part.allCases.filter {
                    ($0 != .sandbox || given == nil) && ($0 != .gateway || gateway != nil)
                },
                drainMs: configuration?.worker.drainMs ?? 25_000,
                waitMs: configuration?.gateway.waitMs ?? 4_000
            ),
            probes: probes(folder, given == nil, gateway),
            redisLog: folder.redis + "/redis.log"
        )
        let guide = SystemGuide(
            file: file,
            socket: folder.socket,
            project: configuration?.projects.first?.id ?? Self.project,
            controlPort: given == nil ? controlPort : nil,
            dashboardPort: dashboardPort,
            gateway: gateway.flatMap { gateway in gateway.origin.map { ($0, gateway.key) } },
            isRedisGiven: given != nil
        )
        let code = try await run.untilStopped {
            let data = given == nil ? "The simulator's devices and the jobs" : "The jobs"
            Console.error("\(data) are kept in \(folder.path). Ctrl-C ends everything. In another terminal:\n")
            for line in guide.lines { Console.error(line) }
        }
        if code != 0 { throw ExitCode(code) }
    }

    private var sandboxAddresses: [(String, ListenAddress?)] {
        [("sandbox-port", sandboxPort), ("control-port", controlPort)].map { ($0, .tcp(host: "127.0.0.1", port: $1)) }
    }

    private func sandbox(_ folder: UpFolder) -> LocalSandbox {
        var sandbox = LocalSandbox(
            folder: folder.path,
            project: Self.project,
            port: sandboxPort,
            controlPort: controlPort
        )
        sandbox.gateway = "gateway: { keys_dir: \(UpGateway.keysFolder) }"
        return sandbox
    }

    /// nil if a configuration has no keys for it.
    private func gateway(_ configuration: Configuration?) -> UpGateway? {
        if let configuration, configuration.gateway.keysFolder == nil { return nil }
        return UpGateway(configuration?.gateway ?? .init(), listen: gateway.flatMap { ListenAddress($0) })
    }

    private var dashboardPort: Int? {
        guard case .tcp(_, let port)? = ListenAddress(dashboard) else { return nil }
        return port
    }

    /// The file that the user names or has in this folder. One of the whole machine is for its own worker.
    private var givenConfiguration: String? {
        if let config { return config }
        if let named = ProcessInfo.processInfo.environment["FANFARE_CONFIG"], !named.isEmpty {
            if access(named, F_OK) == 0 { return named }
            ConfigurationOptions.warn(["FANFARE_CONFIG: \(named) is missing: the simulator takes FCM's place"])
            return nil
        }
        return access("fanfare.yaml", F_OK) == 0 ? "fanfare.yaml" : nil
    }

    private func load(_ file: String?, redis: String) throws -> Configuration {
        try ConfigurationSource(
            file: file,
            name: config == nil ? file ?? "" : "--config",
            environment: ProcessInfo.processInfo.environment,
            flags: ["redis.url": redis]
        ).load()
    }

    private func programs(
        _ folder: UpFolder,
        _ file: String,
        _ sandbox: LocalSandbox?,
        _ gateway: UpGateway?
    ) -> [Supervisor.Part: [String]] {
        let fanfare = SystemGuide.ownPath
        var programs: [Supervisor.Part: [String]] = [
            .redis: PrivateRedis.words(folder: folder.redis, socket: folder.socket, port: redisPort, keepsData: true),
            .worker: [fanfare, "worker", "-c", file, "--redis", folder.redisURL],
            .dashboard: [fanfare, "dashboard", "-c", file, "--redis", folder.redisURL, "--listen", dashboard],
        ]
        if let sandbox { programs[.sandbox] = [fanfare] + sandbox.words }
        if let gateway {
            let listen = "\(gateway.address)"
            programs[.gateway] = [fanfare, "gateway", "-c", file, "--redis", folder.redisURL, "--listen", listen]
        }
        return programs
    }

    /// Where a part listens when it is ready; the worker listens nowhere.
    private func probes(
        _ folder: UpFolder,
        _ hasSandbox: Bool,
        _ gateway: UpGateway?
    ) -> [Supervisor.Part: ListenAddress] {
        var probes: [Supervisor.Part: ListenAddress] = [.redis: .unix(path: folder.socket)]
        if hasSandbox { probes[.sandbox] = .tcp(host: "127.0.0.1", port: controlPort) }
        probes[.dashboard] = ListenAddress(dashboard)
        probes[.gateway] = gateway?.address
        return probes
    }
}
