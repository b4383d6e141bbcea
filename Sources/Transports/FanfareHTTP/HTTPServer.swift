internal import HTTPTypes
public import HummingbirdCore
public import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
public import ServiceLifecycle

/// An HTTP/1.1 server that passes every request to one function.
///
/// It dates every answer. If the function throws, the answer is 500.
public struct HTTPServer: Service {
    public typealias Responder = @Sendable (WebRequest) async throws -> WebReply

    private let address: BindAddress
    private let configuration: HTTP1Channel.Configuration
    private let maximumBodyBytes: @Sendable (_ path: String) -> Int
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int) -> Void
    private let respond: Responder
    private let dates = HTTPDateText()

    /// - Parameters:
    ///   - maximumBodyBytes: of a request to the path. A longer body is reported as too large; with 0 none is read.
    ///   - onListening: called once, with the bound port; 0 for a unix socket.
    public init(
        address: BindAddress,
        configuration: HTTP1Channel.Configuration,
        maximumBodyBytes: @escaping @Sendable (_ path: String) -> Int = { _ in 0 },
        logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void,
        respond: @escaping Responder
    ) {
        self.address = address
        self.configuration = configuration
        self.maximumBodyBytes = maximumBodyBytes
        self.logger = logger
        self.onListening = onListening
        self.respond = respond
    }

    /// Serves until the task is cancelled or its service group shuts down.
    public func run() async throws {
        let server = Server(
            childChannelSetup: HTTP1Channel(responder: answer, configuration: configuration),
            configuration: ServerConfiguration(address: address),
            onServerRunning: { [onListening] in onListening($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        try await server.run()
    }

    @Sendable private func answer(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        var response: Response
        do {
            let reply = try await respond(try await read(request, from: channel.remoteAddress?.ipAddress ?? ""))
            response = Self.response(reply, isHead: request.method == .head)
        } catch let error as HTTPParserError {
            // The channel answers 400.
            throw error
        } catch {
            logger.debug("a request failed", metadata: ["error": "\(error)"])
            response = Response(status: .internalServerError)
        }
        response.headers[.date] = dates.now()
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch is HTTPParserError {
            // The channel would write a second answer after the part of this one.
            throw ChannelError.outputClosed
        }
    }

    private func read(_ request: Request, from peer: String) async throws -> WebRequest {
        var headers: [String: String] = [:]
        for field in request.headers {
            let name = field.name.canonicalName
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        headers["host"] = request.head.authority ?? headers["host"]
        var whole = WebRequest(
            method: request.method.rawValue,
            path: request.uri.path,
            queryText: request.uri.query ?? "",
            headers: headers,
            peer: peer
        )
        let limit = maximumBodyBytes(whole.path)
        guard limit > 0 else { return whole }
        do {
            whole.body = Array(try await request.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            whole.isBodyTooLarge = true
        }
        return whole
    }

    private static func response(_ reply: WebReply, isHead: Bool) -> Response {
        var fields = HTTPFields()
        if let type = reply.type { fields[.contentType] = type }
        for (name, value) in reply.headers {
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
        }
        return Response(status: HTTPResponse.Status(code: reply.status), headers: fields, body: body)
    }
}
