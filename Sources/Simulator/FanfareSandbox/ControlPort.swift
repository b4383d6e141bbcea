import FCMSimulator
import FanfareHTTP
import FanfareModel
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore

import func Glibc.gethostname

/// The control port. It passes every request to the simulator, which knows the paths.
enum ControlPort {
    private static let mostBytes = 1 << 20

    static func server(
        host: SimulatorHost,
        address: (host: String, port: Int),
        logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void
    ) -> HTTPServer {
        let hostName = hostName()
        return HTTPServer(
            address: .hostname(address.host, port: address.port),
            configuration: .init(additionalChannelHandlers: [RequestGate.handler()]),
            logger: logger,
            onListening: { channel in onListening(channel.localAddress?.port ?? 0) }
        ) { request, _ in
            guard isLocal(authority: request.head.authority, hostName: hostName) else {
                return refusal(.forbidden, "The control port answers to names of this machine only.")
            }
            let body: ByteBuffer
            do {
                body = try await request.body.collect(upTo: mostBytes)
            } catch is NIOTooManyBytesError {
                return refusal(.contentTooLarge, "A request's body may have \(mostBytes) bytes.")
            }
            let asked = SimulatorRequest(
                method: request.method.rawValue,
                path: request.uri.path,
                query: request.uri.query ?? "",
                metadataFlavor: request.headers.first { $0.name.canonicalName == "metadata-flavor" }?.value,
                body: Array(body.readableBytesView)
            )
            let reply = Simulator.isMetadata(asked) ? host.respond(to: asked) : host.control(asked)
            if reply.delayMs > 0 { try await Task.sleep(for: .milliseconds(reply.delayMs)) }
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
    }

    private static func refusal(_ status: HTTPResponse.Status, _ sentence: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n"))
        )
    }

    /// Whether a request names this machine: loopback, or the host name, under which other containers reach a sandbox. A
    /// web page can send requests here under its own host's name, if that resolves to 127.0.0.1 (DNS rebinding); they are
    /// refused.
    static func isLocal(authority: String?, hostName: String) -> Bool {
        guard let authority else { return true }
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        let name = authority[..<(authority.lastIndex(of: ":") ?? authority.endIndex)]
        return Loopback.names(name) || (!hostName.isEmpty && name.lowercased() == hostName.lowercased())
    }

    /// The machine's name; empty if it cannot be read.
    private static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
