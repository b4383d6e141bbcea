import FCMSimulator
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The control port, as a Hummingbird application: every request goes to the simulator, which knows the paths.
enum ControlPort {
    private static let mostBytes = 1 << 20

    static func application(
        host: SimulatorHost,
        port: Int,
        logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            let body = try await request.body.collect(upTo: mostBytes)
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
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger
        )
    }
}
