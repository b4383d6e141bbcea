import FCMSimulator
import FanfareHTTP
import FanfareModel
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The control port, as a Hummingbird application. It passes every request to the simulator, which knows the paths.
enum ControlPort {
    private static let mostBytes = 1 << 20

    static func application(
        host: SimulatorHost,
        port: Int,
        logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            guard isLocal(authority: request.head.authority) else {
                return refusal(.forbidden, "The control port answers to names of this machine only.")
            }
            let body: ByteBuffer
            do {
                body = try await request.body.collect(upTo: mostBytes)
            } catch is NIOTooManyBytesError {
                return refusal(.contentTooLarge, "A request's body may have \(mostBytes) bytes.")
            }
            let reply = host.control(
                SimulatorRequest(
                    method: request.method.rawValue,
                    path: request.uri.path,
                    query: request.uri.query ?? "",
                    body: Array(body.readableBytesView)
                )
            )
            var headers = HTTPFields()
            for header in reply.headers {
                if let name = HTTPField.Name(header.name) { headers[name] = header.value }
            }
            return Response(
                status: HTTPResponse.Status(code: reply.status),
                headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.body))
            )
        }
        return Application(
            responder: responder,
            server: .http1(configuration: .init(additionalChannelHandlers: [HostGate.handler()])),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger
        )
    }

    private static func refusal(_ status: HTTPResponse.Status, _ sentence: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n"))
        )
    }

    /// Whether a request names this machine. A web page can send requests here under its own host's name, if that
    /// resolves to 127.0.0.1 (DNS rebinding); they are refused.
    static func isLocal(authority: String?) -> Bool {
        guard let authority else { return true }
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        return Loopback.names(authority[..<(authority.lastIndex(of: ":") ?? authority.endIndex)])
    }
}
