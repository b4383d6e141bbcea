public import FanfareClient
internal import FanfareHTTP
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
internal import StreamWire

/// The web page that shows a fleet and lets a person act on it.
///
/// Serves HTTP/1.1 without TLS: on an address that others reach, put a proxy with TLS before it.
public struct Dashboard<Redis: RedisSending>: Sendable {
    private let options: DashboardOptions
    private let routes: DashboardRoutes<LazyRedis<Redis>>
    private let poller: FleetPoller<LazyRedis<Redis>>
    private let hub: FleetHub
    private let logger: Logger

    /// Who asks nothing makes room for others.
    private static var maxConnections: Int { 256 }
    /// Browsers that look at the live picture at once.
    private static var maxBrowsers: Int { 64 }
    private static var maxBodyBytes: Int { 8_192 }
    private static var maxHeaderBytes: Int { 16_384 }

    /// - Parameters:
    ///   - connect: called until it succeeds; afterwards the connection has to come back by itself.
    ///   - explain: what people are told of an error.
    public init(
        options: DashboardOptions,
        logger: Logger,
        connect: @escaping @Sendable () async throws -> Redis,
        explain: @escaping @Sendable (any Error) -> String
    ) {
        precondition(options.refusal == nil, "whoever starts it has looked at the refusal")
        self.options = options
        self.logger = logger
        let redis = LazyRedis(connect: connect)
        hub = FleetHub(maxBrowsers: Self.maxBrowsers)
        let clock = ContinuousClock()
        let start = clock.now
        routes = DashboardRoutes(
            options: options,
            hub: hub,
            redis: redis,
            explain: explain,
            onAction: { action, project, target in
                logger.notice(
                    "The dashboard was told to act.",
                    metadata: ["action": "\(action)", "project": "\(project)", "target": "\(target)"]
                )
            },
            onWrongToken: { peer, isTooMany in
                logger.warning(
                    isTooMany
                        ? "Too many wrong tokens came; those of the next minute are not noted one by one."
                        : "A wrong token was shown to the dashboard.",
                    metadata: ["peer": "\(peer)"]
                )
            },
            now: { start.duration(to: clock.now) }
        )
        let reader = FleetReader(redis: redis, prefix: options.prefix, projects: options.projects)
        poller = FleetPoller(reader: reader, hub: hub, explain: explain)
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called once, with the port that was taken.
    /// - Throws: a `ListenError` when it cannot listen.
    public func run(onListening: @escaping @Sendable (Int) -> Void) async throws {
        // The server's own word about every connection is of no use here.
        var quiet = logger
        quiet.logLevel = .critical
        let responder = CallbackResponder<PeerContext> { [routes, hub] request, context in
            do {
                return Self.response(await routes.answer(try await Self.request(request, from: context.peer)), hub)
            } catch is NIOTooManyBytesError {
                return Self.response(.error(413, "too_large", "The body is too large."), hub)
            }
        }
        let limiter = ConnectionLimiter(limit: Self.maxConnections)
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [HostGate.handler(), limiter.handler()],
                    idleTimeout: .seconds(60),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.maxHeaderBytes,
                        maxHeaderListSize: Self.maxHeaderBytes,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port)
            ),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) },
            logger: quiet
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [poller] in await poller.run() }
            group.addTask { [options] in
                do {
                    try await application.run()
                } catch {
                    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
                    throw ListenError(error, address: "\(host):\(options.port)") ?? error
                }
            }
            // Whichever ends first ends the other.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: Between the server's words and ours

    private static func request(_ request: Request, from peer: String) async throws -> WebRequest {
        let body = try await request.body.collect(upTo: maxBodyBytes)
        var headers: [String: String] = [:]
        for field in request.headers {
            // Of a header that came twice, the pair is no valid value of any that is looked at.
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
        let body: ResponseBody
        switch reply.body {
        case .bytes(let bytes): body = ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        case .events(let slot): body = ResponseBody { writer in try await stream(hub, slot, to: &writer) }
        }
        return Response(status: HTTPResponse.Status(code: reply.status), headers: fields, body: body)
    }

    /// Ends when the browser goes or the dashboard does.
    private static func stream(_ hub: FleetHub, _ slot: StreamSlot, to writer: inout any ResponseBodyWriter)
        async throws
    {
        defer { withExtendedLifetime(slot) {} }
        try await writer.write(ByteBuffer(bytes: EventStream.opening))
        var seen = 0
        while let update = await hub.next(after: seen) {
            seen = update.version
            try await writer.write(ByteBuffer(bytes: EventStream.event(update)))
        }
        try await writer.finish(nil)
    }
}

/// Who asks.
private struct PeerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: String

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
    }
}
