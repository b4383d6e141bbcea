public import NIOCore
internal import NIOHTTP1

/// Refuses requests of one connection that break ``HostRule``: the server answers 400 and closes the connection.
///
/// So the server's handlers see exactly one host, the same as a proxy before this server.
public enum HostGate {
    /// One for each connection, among a server's additional handlers.
    public static func handler() -> any RemovableChannelHandler { HostGateInstaller() }
}

/// Puts the gate behind the decoder. A server's additional handlers come too late: they no longer see the HTTP version.
private final class HostGateInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(HostGateHandler(), position: .after(decoder))
        } catch {
            // Closes the connection: a request must not pass without the check.
            context.close(promise: nil)
        }
    }
}

private final class HostGateHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        if case .head(let head) = unwrapInboundIn(data),
            HostRule.refusal(hosts: head.headers["host"], isHTTP10: head.version == .http1_0) != nil
        {
            hasRefused = true
            // As what the decoder itself refuses: the server answers 400 once the requests before it are answered.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        context.fireChannelRead(data)
    }
}
