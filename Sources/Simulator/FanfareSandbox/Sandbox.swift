import FCMSimulator
import FanfareHTTP
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import OpenSSLKit
import ServiceLifecycle

/// Runs the simulator behind real servers.
///
/// ``start()`` writes the files, listens, and returns the ports. ``stop()`` ends it. ``run()`` waits for its end.
public actor Sandbox {
    private let options: SandboxOptions
    private let logger: Logger
    private var serverLogger: Logger
    private var running: (services: ServiceGroup, task: Task<Void, any Error>)?

    public init(options: SandboxOptions, logger: Logger) {
        self.options = options
        self.logger = logger
        serverLogger = logger
        // The servers log every start and connection at info level; a user needs none of it.
        serverLogger.logLevel = max(logger.logLevel, .warning)
    }

    /// - Returns: the ports in use, once all listen.
    public func start() async throws -> SandboxPorts {
        precondition(running == nil, "a sandbox starts once")
        try options.check()
        let directory = try StateDirectory(path: options.stateDirectory)
        // The files name the port and must exist before a client can connect, so the port is chosen first.
        let port = try options.port == 0 ? FreePort.find(host: options.listen) : options.port
        let wanted = options.xmppPort ?? (options.port == 0 ? 0 : SandboxOptions.defaultXMPPPort)
        let xmppPort = try wanted == 0 ? FreePort.find(host: options.listen, but: port) : wanted
        var ports = SandboxPorts(data: port, xmpp: xmppPort, control: options.controlPort)
        let certificate = try ServerCertificate.loadOrMake(in: directory)
        let host = try makeHost(directory: directory, port: port)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        // The port of each server that listens; an error ends it.
        let (started, starting) = AsyncThrowingStream<(server: String, port: Int), any Error>.makeStream()
        let services = try makeServices(host, certificate, ports: ports, loops: loops) { starting.yield(($0, $1)) }
        let task = Task {
            // The threads end before the task: the process may exit after it.
            do {
                try await services.run()
                try? await loops.shutdownGracefully()
                starting.finish(throwing: SandboxError("stopped before it listened"))
            } catch {
                try? await loops.shutdownGracefully()
                starting.finish(throwing: error)
                throw error
            }
        }
        running = (services, task)
        var listening: [String: Int] = [:]
        do {
            for try await (server, port) in started.prefix(3) { listening[server] = port }
            // The sequence ends early if the task is cancelled.
            guard listening.count == 3 else { throw CancellationError() }
        } catch {
            await stop()
            throw error
        }
        ports.control = listening["control"] ?? 0
        logger.info(
            "The sandbox listens",
            metadata: [
                "port": "\(port)", "xmpp_port": "\(xmppPort)", "control_port": "\(ports.control)",
                "state": "\(options.stateDirectory)",
            ]
        )
        return ports
    }

    /// Returns when the sandbox was stopped; throws the error that ended it otherwise.
    public func run() async throws {
        try await running?.task.value
    }

    public func stop() async {
        guard let running else { return }
        self.running = nil
        await running.services.triggerGracefulShutdown()
        _ = await running.task.result
    }

    /// - Parameter onListening: takes the name and the port of each server that listens.
    private func makeServices(
        _ host: SimulatorHost,
        _ certificate: ServerCertificate,
        ports: SandboxPorts,
        loops: MultiThreadedEventLoopGroup,
        onListening: @escaping @Sendable (String, Int) -> Void
    ) throws -> ServiceGroup {
        let http = try TLSServerContext(identity: certificate.server, protocols: ["h2", "http/1.1"])
        let data = Server(
            childChannelSetup: TLSChannel(tls: http) {
                try $0.pipeline.syncOperations.addHandler(HTTPNegotiation.handler(host: host))
            },
            configuration: ServerConfiguration(address: .hostname(options.listen, port: ports.data), backlog: 1_024),
            onServerRunning: { _ in onListening("data", ports.data) },
            eventLoopGroup: loops,
            logger: serverLogger
        )
        let plain = try TLSServerContext(identity: certificate.server)
        let xmpp = Server(
            childChannelSetup: TLSChannel(tls: plain) {
                try $0.pipeline.syncOperations.addHandler(XMPPHandler(host: host))
            },
            configuration: ServerConfiguration(address: .hostname(options.listen, port: ports.xmpp), backlog: 1_024),
            onServerRunning: { _ in onListening("xmpp", ports.xmpp) },
            // Not the loops that end with the sandbox: a server whose start is cut short uses its loops later.
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: serverLogger
        )
        let control = ControlPort.server(
            host: host,
            address: (options.controlListen, ports.control),
            logger: serverLogger
        ) { port in
            onListening("control", port)
        }
        var configuration = ServiceGroupConfiguration(
            services: [
                (data as any Service, "\(options.listen):\(ports.data)", "--port"),
                (xmpp, "\(options.listen):\(ports.xmpp)", "--xmpp-port"),
                (control, "\(options.controlListen):\(ports.control)", "--control-port"),
            ].map {
                // If one server cannot listen, the others stop without an error.
                .init(
                    service: ListeningService(server: $0, address: $1, option: $2),
                    failureTerminationBehavior: .gracefullyShutdownGroup
                )
            },
            logger: serverLogger
        )
        configuration.maximumGracefulShutdownDuration = .seconds(1)
        return ServiceGroup(configuration: configuration)
    }

    private func makeHost(directory: StateDirectory, port: Int) throws -> SimulatorHost {
        let local = "https://localhost:\(port)/token"
        let tokenURI = options.tokenURI ?? local
        var projects: [SimulatedProject] = []
        var keys: [String: RS256Signer] = [:]
        for id in options.projects {
            let credentials = try ProjectCredentials.prepare(project: id, tokenURI: tokenURI, in: directory)
            var project = credentials.project
            project.identity = try IdentityFiles.prepare(project, origin: "https://localhost:\(port)", in: directory)
            projects.append(project)
            keys[credentials.project.serviceAccountEmail] = credentials.key
        }
        var configuration = SimulatorConfiguration(projects: projects)
        configuration.seed = options.seed
        configuration.quotaPerMinute = options.quotaPerMinute
        configuration.bareErrors = options.bareErrors
        configuration.fanoutRate = options.fanoutRate
        configuration.defersFanouts = options.deferFanouts
        configuration.tokenLifetimeSeconds = Int64(options.tokenLifetimeSeconds)
        // Google's libraries put Google's own names into an assertion, not the file's.
        configuration.tokenAudiences = [
            tokenURI, local, "https://127.0.0.1:\(port)/token", "https://[::1]:\(port)/token",
            "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
            "https://accounts.google.com/o/oauth2/token",
        ]
        return SimulatorHost(
            simulator: Simulator(configuration: configuration),
            keys: keys,
            timers: MultiThreadedEventLoopGroup.singleton.next()
        )
    }
}

/// The ports of a sandbox.
public struct SandboxPorts: Equatable, Sendable {
    /// TLS, HTTP/2 and HTTP/1.1.
    public var data: Int
    /// TLS, XMPP.
    public var xmpp: Int
    /// Plain HTTP.
    public var control: Int
}
