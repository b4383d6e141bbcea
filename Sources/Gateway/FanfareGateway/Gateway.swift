public import FanfareClient
public import FanfareCore
internal import FanfareHTTP
public import FanfareMetrics
internal import HummingbirdCore
public import Logging
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import OpenSSLKit
internal import ServiceLifecycle

/// Serves producers over HTTP: Google's APIs for sends, topics, device groups and log-in, and Fanfare's own API.
///
/// It is a producer and a reader of Redis: it holds no credential of Google and never sends to FCM. Any number of gateways may
/// run beside each other; none keeps what another one needs.
public struct Gateway: Sendable {
    private let options: GatewayOptions
    private let logger: Logger
    private let redis: CountedRedis
    private let desk: SendDesk
    private let gate: NIOLockedValueBox<KeyGate>
    private let routes: GatewayRoutes
    /// nil for plain HTTP.
    private let tls: NIOLockedValueBox<TLSServerContext>?
    private let meters: GatewayMetrics
    private let health: GatewayHealth

    /// - Parameters:
    ///   - inputs: clocks, ids and rules.
    /// - Throws: the error of OpenSSL for a certificate that cannot be used.
    public init(
        options: GatewayOptions,
        keys: KeyTable,
        redis: any RedisSending,
        registry: MetricRegistry,
        health: GatewayHealth,
        logger: Logger,
        inputs: GatewayInputs
    ) throws {
        (self.options, self.logger) = (options, logger)
        tls = try options.identity.map { NIOLockedValueBox(try Self.tls($0)) }
        gate = NIOLockedValueBox(KeyGate(keys))
        let meters = GatewayMetrics(registry, nowNs: inputs.nowNs)
        if let identity = options.identity { meters.setCertificate(pem: identity.certificate) }
        let redis = CountedRedis(redis: redis, meters: meters)
        (self.meters, self.redis, self.health) = (meters, redis, health)
        let records = RequestRecords(
            redis: redis,
            prefix: options.prefix,
            gateway: inputs.newJobID().filter { $0 != "." },
            dedupeMs: options.dedupeMs
        )
        desk = SendDesk(
            records: records,
            meters: meters,
            logger: logger,
            inputs: inputs
        )
        let served = ServedProjects(redis: redis, prefix: options.prefix, nowNs: inputs.nowNs)
        let sends = SendRoute(
            desk: desk,
            served: served,
            entryCheck: inputs.entryCheck,
            waitMs: options.waitMs,
            logger: logger
        )
        routes = GatewayRoutes(
            gate: gate,
            v1: V1Route(sends: sends),
            legacy: LegacyRoute(sends: sends),
            management: ManagementServing(sends: sends),
            tokens: TokenRoute(gate: gate, inputs),
            own: OwnRoutes(
                redis: redis,
                prefix: options.prefix,
                served: served,
                pushes: JobPushes(records: records, meters: meters, logger: logger, inputs: inputs),
                audiences: AudienceRoute(redis: redis, newID: inputs.newJobID),
                logger: logger
            ),
            isBehindProxy: options.isBehindProxy,
            meters: meters
        )
    }

    /// Replaces all keys.
    public func replaceKeys(_ keys: KeyTable) { gate.withLockedValue { $0.replaceKeys(keys) } }

    /// Uses another certificate for new connections. Without TLS it does nothing.
    ///
    /// - Throws: the error of OpenSSL for a certificate that cannot be used; the old one stays.
    public func replaceIdentity(_ identity: GatewayOptions.Identity) throws {
        let context = try Self.tls(identity)
        tls?.withLockedValue { $0 = context }
        meters.setCertificate(pem: identity.certificate)
    }

    private static func tls(_ identity: GatewayOptions.Identity) throws -> TLSServerContext {
        let identity = ServerIdentity(certificatePEM: identity.certificate, keyPEM: identity.key)
        return try TLSServerContext(identity: identity, protocols: ["h2", "http/1.1"])
    }

    /// Serves until it is stopped or the task is cancelled. A stop ends connections in order: requests that wait are
    /// answered.
    ///
    /// - Parameters:
    ///   - stops: an element stops the gateway.
    ///   - onListening: called once, with the bound port; 0 for a unix socket.
    /// - Throws: a `ListenError` if it cannot listen.
    public func run(stops: AsyncStream<Void>, onListening: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let responder = Responder(
            maximumBodyBytes: GatewayRoutes.maximumBodyBytes,
            reads: { [routes] in routes.reads($0, path: $1) },
            needsKey: GatewayRoutes.needsKey,
            respond: { [routes] in routes.begin($0, $1) },
            maximumStreamedBytes: GatewayRoutes.maximumStreamedBytes,
            stream: { [routes] in await routes.answer($0, $1) }
        )
        let connections = HTTPConnections(responder: responder, maximumConnections: options.maximumConnections)
        meters.followConnections { connections.open.withLockedValue { $0 } }
        // The server logs every connection.
        var quiet = logger
        quiet.logLevel = .critical
        var configuration = ServiceGroupConfiguration(
            services: [.init(service: server(connections, quiet, onListening))],
            logger: quiet
        )
        configuration.maximumGracefulShutdownDuration = .seconds(65)
        let services = ServiceGroup(configuration: configuration)
        let stopping = Task {
            for await _ in stops {
                health.stop()
                logger.info("The gateway stops: requests that wait are answered.")
                await services.triggerGracefulShutdown()
            }
        }
        let sending = Task { await desk.run() }
        let watching = Task { await health.watch(redis, meters, logger) }
        defer {
            stopping.cancel()
            watching.cancel()
        }
        let outcome: Result<Void, any Error>
        do {
            try await withTaskCancellationHandler {
                try await services.run()
            } onCancel: {
                Task { await services.triggerGracefulShutdown() }
            }
            outcome = .success(())
        } catch {
            outcome = .failure(ListenError(error, address: options.address.text) ?? error)
        }
        sending.cancel()
        // It writes what became of the last requests.
        await sending.value
        try outcome.get()
    }

    private func server(
        _ connections: HTTPConnections,
        _ logger: Logger,
        _ onListening: @escaping @Sendable (Int) -> Void
    ) -> any Service {
        // SDKs open hundreds of connections in one call.
        let configuration = ServerConfiguration(address: options.address.bind, backlog: 1_024)
        let loops = MultiThreadedEventLoopGroup.singleton
        guard let tls else {
            return Server(
                childChannelSetup: PlainChannel(connections: connections),
                configuration: configuration,
                onServerRunning: { onListening($0.localAddress?.port ?? 0) },
                eventLoopGroup: loops,
                logger: logger
            )
        }
        return Server(
            childChannelSetup: TLSChannel(tls: tls.withLockedValue { $0 }) { try connections.addAfterTLS(to: $0) },
            configuration: configuration,
            onServerRunning: { onListening($0.localAddress?.port ?? 0) },
            eventLoopGroup: loops,
            logger: logger
        )
    }
}

extension GatewayOptions.Address {
    fileprivate var bind: BindAddress {
        switch self {
        case .tcp(let host, let port): .hostname(host, port: port)
        case .unix(let path): .unixDomainSocket(path: path)
        }
    }

    fileprivate var text: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }
}
