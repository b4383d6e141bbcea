public import FanfareClient
internal import FanfareHTTP
internal import HTTPTypes
internal import HummingbirdCore
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
    /// An edited job holds a message of up to 4 kB and its other fields.
    private static var maxEditedBytes: Int { 65_536 }

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
        let server = HTTPServer(
            address: .hostname(options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port),
            configuration: .limited(connections: Self.maxConnections, idleSeconds: 60),
            logger: quiet,
            onListening: { channel in onListening(channel.localAddress?.port ?? 0) }
        ) { [routes] request, channel in
            do {
                let peer = channel.remoteAddress?.ipAddress ?? ""
                let reply = await routes.answer(try await Self.request(request, from: peer))
                return Self.response(reply, hub, isHead: request.method == .head)
            } catch is NIOTooManyBytesError {
                return Self.response(.error(413, "too_large", "The body is too large."), hub)
            }
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
                await routes.hub.publish(trouble: routes.explain(error))
            }
            try? await Task.sleep(until: start + .seconds(1))
        }
        await routes.hub.close()
    }

    // MARK: Conversion of requests and replies

    private static func request(_ request: Request, from peer: String) async throws -> WebRequest {
        let limit = request.uri.path.hasSuffix("/push") ? maxEditedBytes : maxBodyBytes
        let body = try await request.body.collect(upTo: limit)
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

    private static func response(_ reply: WebReply, _ hub: FleetHub, isHead: Bool = false) -> Response {
        var fields = HTTPFields()
        for (name, value) in WebReply.securityHeaders + [("Content-Type", reply.type)] + reply.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        var body = ResponseBody(byteBuffer: ByteBuffer(bytes: reply.bytes))
        if isHead {
            // Also for a stream: without a length the server ends the body with an empty chunk, which the client would read
            // as the start of the next reply.
            body = ResponseBody(contentLength: reply.bytes.count) { writer in
                try await writer.finish(nil)
            }
        } else if let pieces = reply.body {
            body = ResponseBody { writer in
                try await pieces { try await writer.write(ByteBuffer(bytes: $0)) }
                try await writer.finish(nil)
            }
        } else if let slot = reply.slot {
            body = ResponseBody { writer in try await stream(hub, slot, of: reply.project, to: &writer) }
        }
        return Response(status: HTTPResponse.Status(code: reply.status), headers: fields, body: body)
    }

    /// Writes events until the browser or the dashboard disconnects.
    private static func stream(
        _ hub: FleetHub,
        _ slot: StreamSlot,
        of project: String?,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        defer { withExtendedLifetime(slot) {} }
        // The browser reconnects after 2 s.
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        var seen = 0
        while let update = await hub.next(after: seen, of: project) {
            seen = update.version
            try await writer.write(ByteBuffer(bytes: update.bytes))
        }
        try await writer.finish(nil)
    }
}
