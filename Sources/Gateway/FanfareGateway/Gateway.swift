public import FanfareClient
public import FanfareCore
internal import FanfareHTTP
internal import HummingbirdCore
public import Logging
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import OpenSSLKit
internal import ServiceLifecycle

/// Serves FCM's API to producers and answers with the results of the workers.
///
/// It is a producer and a reader of Redis: it holds no credential of Google and never sends to FCM. Any number of gateways may
/// run beside each other; none keeps what another one needs.
public struct Gateway<Redis: RedisSending>: Sendable {
    private let options: GatewayOptions
    private let logger: Logger
    private let desk: SendDesk<Redis>
    private let gate: NIOLockedValueBox<KeyGate>
    private let routes: GatewayRoutes<Redis>
    private let tls: TLSServerContext?

    /// - Parameters:
    ///   - mayBeApplied: whether Redis may have run the command that ended with the error.
    ///   - entryCheck: the checks of a job of a project, as its workers make them.
    ///   - nowNs: a clock that is never set.
    ///   - newJobID: a unique id with each call.
    /// - Throws: the error of OpenSSL for a certificate that cannot be used.
    public init(
        options: GatewayOptions,
        keys: KeyTable,
        redis: Redis,
        logger: Logger,
        mayBeApplied: @escaping @Sendable (any Error) -> Bool,
        entryCheck: @escaping @Sendable (_ project: String) -> EntryCheck,
        nowNs: @escaping @Sendable () -> UInt64,
        newJobID: @escaping @Sendable () -> String
    ) throws {
        (self.options, self.logger) = (options, logger)
        tls = try options.identity.map { certificate, key in
            let identity = ServerIdentity(certificatePEM: certificate, keyPEM: key)
            return try TLSServerContext(identity: identity, protocols: ["h2", "http/1.1"])
        }
        gate = NIOLockedValueBox(KeyGate(keys))
        let records = RequestRecords(
            redis: redis,
            prefix: options.prefix,
            gateway: newJobID().filter { $0 != "." },
            dedupeMs: options.dedupeMs
        )
        desk = SendDesk(
            records: records,
            maximumWaiting: options.maximumWaiting,
            logger: logger,
            mayBeApplied: mayBeApplied,
            nowNs: nowNs,
            newJobID: newJobID
        )
        let sends = SendRoute(
            desk: desk,
            records: records,
            served: ServedProjects(redis: redis, prefix: options.prefix),
            entryCheck: entryCheck,
            waitMs: options.waitMs,
            logger: logger
        )
        routes = GatewayRoutes(
            gate: gate,
            v1: V1Route(sends: sends),
            legacy: LegacyRoute(sends: sends),
            management: ManagementServing(sends: sends),
            nowNs: nowNs,
            isBehindProxy: options.isBehindProxy
        )
    }

    /// Replaces all keys.
    public func replaceKeys(_ keys: KeyTable) { gate.withLockedValue { $0.replaceKeys(keys) } }

    /// Serves until it is stopped or the task is cancelled. A stop ends connections in order: requests that wait are
    /// answered.
    ///
    /// - Parameters:
    ///   - stops: an element stops the gateway.
    ///   - onListening: called once, with the bound port; 0 for a unix socket.
    /// - Throws: a `ListenError` if it cannot listen.
    public func run(stops: AsyncStream<Void>, onListening: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let responder = Responder(
            maximumBodyBytes: GatewayRoutes<Redis>.maximumBodyBytes,
            knows: { [routes] in routes.knows($0) },
            respond: { [routes] in await routes.answer($0) }
        )
        let connections = HTTPConnections(responder: responder, maximumConnections: options.maximumConnections)
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
            for await _ in stops { await services.triggerGracefulShutdown() }
        }
        let sending = Task { await desk.run() }
        defer { stopping.cancel() }
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
            childChannelSetup: TLSChannel(tls: tls) { try connections.addAfterTLS(to: $0) },
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
