import FCMSimulator
import FanfareHTTP
import FanfareModel
import FoundationEssentials
import HummingbirdCore
import Logging

/// The control port. It passes every request to the simulator, which knows the paths.
enum ControlPort {
    private static let maximumBytes = 1 << 20

    static func server(
        host: SimulatorHost,
        address: (host: String, port: Int),
        logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void
    ) -> HTTPServer {
        let hostName = ProcessInfo.processInfo.hostName
        return HTTPServer(
            address: .hostname(address.host, port: address.port),
            configuration: .init(additionalChannelHandlers: [RequestGate.handler()]),
            maximumBodyBytes: { _ in maximumBytes },
            logger: logger,
            onListening: onListening
        ) { request in
            guard isLocal(authority: request.headers["host"], hostName: hostName) else {
                return errorReply(403, "The control port answers to names of this machine only.")
            }
            guard !request.isBodyTooLarge else {
                return errorReply(413, "A request's body may have \(maximumBytes) bytes.")
            }
            let asked = SimulatorRequest(
                method: request.method,
                path: request.path,
                query: request.queryText,
                metadataFlavor: request.headers["metadata-flavor"],
                body: request.body
            )
            let reply = Simulator.isMetadata(asked) ? host.respond(to: asked) : host.control(asked)
            if reply.delayMs > 0 { try await Task.sleep(for: .milliseconds(reply.delayMs)) }
            let headers = reply.headers.map { (name: $0.name, value: $0.value) }
            return WebReply(status: reply.status, type: nil, bytes: reply.body, headers: headers)
        }
    }

    private static func errorReply(_ status: Int, _ sentence: String) -> WebReply {
        .text(sentence + "\n", status: status, type: "text/plain")
    }

    /// Whether a request names this machine: loopback, or the host name, under which other containers reach a sandbox. A
    /// web page can send requests here under its own host's name, if that resolves to 127.0.0.1 (DNS rebinding); they are
    /// refused.
    static func isLocal(authority: String?, hostName: String) -> Bool {
        guard let authority else { return true }
        guard let name = HostRule.name(ofAuthority: authority) else { return false }
        return Loopback.names(name) || (!hostName.isEmpty && name == hostName.lowercased())
    }
}
