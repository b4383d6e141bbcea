public import FanfareClient
internal import FanfareHTTP
internal import HTTPTypes
internal import Hummingbird
public import Logging
internal import NIOCore

/// Serves a web page that shows and controls a fleet.
///
/// The page is plain HTTP/1.1: if other machines can reach its address, put a TLS proxy before it.
public struct Dashboard<Redis: RedisSending>: Sendable {
    private let routes: DashboardRoutes<LazyRedis<Redis>>
    private let reader: FleetReader<LazyRedis<Redis>>

    /// Idle connections above this limit are closed.
    private static var maxConnections: Int { 256 }
    /// Browsers that may follow the fleet at once.
    private static var maxBrowsers: Int { 64 }
    private static var maxBodyBytes: Int { 8_192 }

    /// - Parameters:
    ///   - connect: called until it succeeds; its connection must reconnect by itself.
    ///   - explain: the text of an error for users.
    public init(
        options: DashboardOptions,
        logger: Logger,
        connect: @escaping @Sendable () async throws -> Redis,
        explain: @escaping @Sendable (any Error) -> String
    ) {
        precondition(options.refusal == nil, "the caller checks options.refusal first")
        let redis = LazyRedis(connect: connect)
        let clock = ContinuousClock()
        let start = clock.now
        routes = DashboardRoutes(
            options: options,
            hub: FleetHub(maxBrowsers: Self.maxBrowsers),
            redis: redis,
            logger: logger,
            explain: explain,
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
        let (options, hub) = (routes.options, routes.hub)
        let responder = CallbackResponder<PeerContext> { [routes] request, context in
            do {
                return Self.response(await routes.answer(try await Self.request(request, from: context.peer)), hub)
            } catch is NIOTooManyBytesError {
                return Self.response(.error(413, "too_large", "The body is too large."), hub)
            }
        }
        let application = Application(
            responder: responder,
            server: .http1(configuration: .limited(connections: Self.maxConnections, idleSeconds: 60)),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port)
            ),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) },
            logger: quiet
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await poll() }
            group.addTask {
                do {
                    try await application.run()
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
                await routes.hub.publish(trouble: routes.explain(error))
            }
            try? await Task.sleep(until: start + .seconds(1))
        }
        await routes.hub.close()
    }

    // MARK: Conversion of requests and replies

    private static func request(_ request: Request, from peer: String) async throws -> WebRequest {
        let body = try await request.body.collect(upTo: maxBodyBytes)
        var headers: [String: String] = [:]
        for field in request.headers {
            // Repeated headers are joined, which makes the ones used here invalid.
            let name = field.name.canonicalName
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        headers["host"] = request.head.authority ?? headers["host"]
        return WebRequest(
            method: request.method.rawValue,
            path: request.uri.path,
            query: WebRequest.query(request.uri.query ?? ""),
            headers: headers,
            body: Array(body.readableBytesView),
            peer: peer
        )
    }

    private static func response(_ reply: WebReply, _ hub: FleetHub) -> Response {
        var fields = HTTPFields()
        for (name, value) in WebReply.securityHeaders + [("Content-Type", reply.type)] + reply.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        var body = ResponseBody(byteBuffer: ByteBuffer(bytes: reply.bytes))
        if let slot = reply.slot { body = ResponseBody { writer in try await stream(hub, slot, to: &writer) } }
        return Response(status: HTTPResponse.Status(code: reply.status), headers: fields, body: body)
    }

    /// Writes events until the browser or the dashboard disconnects.
    private static func stream(_ hub: FleetHub, _ slot: StreamSlot, to writer: inout any ResponseBodyWriter)
        async throws
    {
        defer { withExtendedLifetime(slot) {} }
        // The browser reconnects after 2 s.
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        var seen = 0
        while let update = await hub.next(after: seen) {
            seen = update.version
            try await writer.write(ByteBuffer(bytes: update.bytes))
        }
        try await writer.finish(nil)
    }
}

/// The context of a request, with the address of its peer.
private struct PeerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: String

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
