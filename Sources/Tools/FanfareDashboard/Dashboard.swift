public import FanfareClient
internal import FanfareHTTP
public import FanfareJSON
internal import HummingbirdCore
public import Logging

/// Serves a web page that shows and controls a fleet.
///
/// The page is plain HTTP/1.1: if other machines can reach its address, put a TLS proxy before it.
public struct Dashboard<Redis: RedisSending>: Sendable {
    private let routes: DashboardRoutes<LazyRedis<Redis>>
    private let reader: FleetReader<LazyRedis<Redis>>

    /// Idle connections above this limit are closed.
    private static var maximumConnections: Int { 256 }
    /// Browsers that may follow the fleet at once.
    private static var maximumBrowsers: Int { 64 }
    private static var usualBodyBytes: Int { 8_192 }
    /// An edited job holds a message of up to 4 kB and its other fields.
    private static var maximumEditedBytes: Int { 65_536 }
    /// A change of several jobs names each by its project and id.
    private static var maximumJobsBytes: Int { 131_072 }

    /// - Parameters:
    ///   - connect: called until it succeeds; its connection must reconnect by itself.
    ///   - explain: the text of an error for users.
    ///   - examine: `servers` and `checks` of Redis for the page Redis, or why it may not read them, as `refused`.
    public init(
        options: DashboardOptions,
        logger: Logger,
        connect: @escaping @Sendable () async throws -> Redis,
        explain: @escaping @Sendable (any Error) -> String,
        examine: (@Sendable () async throws -> JSONObject)? = nil
    ) {
        precondition(options.fault == nil, "the caller checks options.fault first")
        let redis = LazyRedis(connect: connect)
        let clock = ContinuousClock()
        let start = clock.now
        routes = DashboardRoutes(
            options: options,
            hub: FleetHub(maximumBrowsers: Self.maximumBrowsers),
            redis: redis,
            logger: logger,
            explain: explain,
            examine: examine,
            sessions: Sessions(logger: logger),
            now: { start.duration(to: clock.now) }
        )
        reader = FleetReader(redis: redis, prefix: options.prefix, projects: options.projects)
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called once, with the bound port.
    /// - Throws: a `ListenError` if it cannot listen.
    public func run(onListening: @escaping @Sendable (Int) -> Void) async throws {
        // Suppress the server's log record of every connection.
        var quiet = routes.logger
        quiet.logLevel = .critical
        let options = routes.options
        let server = HTTPServer(
            address: .hostname(options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port),
            configuration: .limited(connections: Self.maximumConnections, idleSeconds: 60),
            maximumBodyBytes: Self.maximumBodyBytes,
            logger: quiet,
            onListening: onListening
        ) { [routes] request in
            var reply = WebReply.error(413, "too_large", "The body is too large.")
            if !request.isBodyTooLarge { reply = await routes.answer(request) }
            reply.headers = WebReply.securityHeaders + reply.headers
            return reply
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await poll() }
            group.addTask {
                do {
                    try await server.run()
                } catch {
                    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
                    throw ListenError(error, address: "\(host):\(options.port)") ?? error
                }
            }
            // The first to end cancels the other.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Reads the fleet each second and publishes it to all browsers, until the task is cancelled.
    private func poll() async {
        var meter = FleetMeter()
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                let snapshot = try await reader.read()
                meter.add(snapshot)
                await routes.hub.publish(snapshot, meter)
            } catch {
                await routes.hub.publish(readError: routes.explain(error))
            }
            try? await Task.sleep(until: start + .seconds(1))
        }
        await routes.hub.close()
    }

    private static func maximumBodyBytes(_ path: String) -> Int {
        path.hasSuffix("/push") ? maximumEditedBytes : path.hasPrefix("/api/jobs/") ? maximumJobsBytes : usualBodyBytes
    }
}
