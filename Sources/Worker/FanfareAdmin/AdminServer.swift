internal import FanfareHTTP
public import FanfareModel
internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore

/// `/metrics`, `/healthz` and `/readyz` of a process, over HTTP/1.1.
///
/// Without a token only for an address of this machine, which ``init(address:token:probes:logger:)`` insists on.
public struct AdminServer: Sendable {
    private let address: AdminAddress
    private let responder: AdminResponder
    private let logger: Logger

    /// Scrapers and probes. Who asks nothing makes room for others.
    private static let maxConnections = 64
    /// Nobody who asks here has long headers, or needs long to send them.
    private static let maxHeaderBytes = 16_384
    private static let idleSeconds: Int64 = 30

    /// - Parameters:
    ///   - token: asked for by `/metrics`, and by the probes before they give details. An address that others than
    ///     this machine reach must have one.
    public init(address: AdminAddress, token: BearerToken?, probes: AdminProbes, logger: Logger) {
        precondition(address.isLocal || token != nil, "the configuration's check lets no such address through")
        self.address = address
        var isTCP = false
        if case .tcp = address { isTCP = true }
        responder = AdminResponder(probes: probes, token: token, checksHost: isTCP && token == nil)
        self.logger = logger
    }

    /// Serves for as long as the process lives: nobody who asks here has to be waited for. A task that runs it is not
    /// to be cancelled, because NIO traps where a connection was accepted and not looked at yet.
    ///
    /// - Parameter onListening: called once, with the port that was taken.
    /// - Throws: a `ListenError` when it cannot listen.
    public func run(onListening: @escaping @Sendable (AdminAddress) -> Void) async throws {
        let responder = responder
        let callback = CallbackResponder<BasicRequestContext> { request, _ in
            let answer = responder.answer(
                AdminResponder.Request(
                    method: request.method.rawValue,
                    path: request.uri.path,
                    host: request.head.authority,
                    authorization: request.headers[.authorization]
                )
            )
            return Self.response(answer, isHead: request.method == .head)
        }
        // The server's own word about every start is of no use to whoever reads the worker's log.
        var quiet = logger
        quiet.logLevel = .critical
        let limiter = ConnectionLimiter(limit: Self.maxConnections)
        let application = Application(
            responder: callback,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [HostGate.handler(), limiter.handler()],
                    idleTimeout: .seconds(Self.idleSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.maxHeaderBytes,
                        maxHeaderListSize: Self.maxHeaderBytes,
                        maxHeaderFieldCount: 100
                    )
                )
            ),
            configuration: ApplicationConfiguration(address: try bindAddress()),
            onServerRunning: { [address] channel in
                onListening(Self.listening(address, channel))
            },
            logger: quiet
        )
        do {
            try await application.run()
        } catch {
            throw ListenError(error, address: address.description) ?? error
        }
    }

    private func bindAddress() throws -> BindAddress {
        switch address {
        case .tcp(let host, let port): return .hostname(host, port: port)
        case .unix(let path):
            // The server would take a socket away from one that still serves it.
            guard !UnixSocket.isServed(path) else {
                let taken = IOError(errnoCode: EADDRINUSE, reason: "bind")
                throw ListenError(taken, address: address.description) ?? taken
            }
            return .unixDomainSocket(path: path)
        }
    }

    private static func listening(_ address: AdminAddress, _ channel: any Channel) -> AdminAddress {
        switch address {
        case .tcp(let host, let port): return .tcp(host: host, port: channel.localAddress?.port ?? port)
        case .unix(let path):
            // For the owner and the group: who may connect may ask.
            _ = chmod(path, 0o660)
            return address
        }
    }

    private static func response(_ answer: AdminResponder.Answer, isHead: Bool) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = answer.contentType
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        for (name, value) in answer.headers { if let name = HTTPField.Name(name) { headers[name] = value } }
        let buffer = ByteBuffer(string: answer.body)
        if isHead { headers[.contentLength] = "\(buffer.readableBytes)" }
        return Response(
            status: HTTPResponse.Status(code: answer.status),
            headers: headers,
            body: isHead ? ResponseBody() : ResponseBody(byteBuffer: buffer)
        )
    }
}
