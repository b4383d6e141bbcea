public import NIOCore
internal import NIOHTTP1

/// Refuses requests of one connection that break ``HostRule``: the server answers 400 and closes the connection.
///
/// Whatever looks at a request later sees one host, the same that a proxy before this server saw.
public enum HostGate {
    /// One for each connection, among a server's additional handlers.
    public static func handler() -> any RemovableChannelHandler { HostGateInstaller() }
}

/// Puts the gate behind the decoder. A server takes additional handlers only where the HTTP version is known no more.
private final class HostGateInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(HostGateHandler(), position: .after(decoder))
        } catch {
            // Better no answer than one without the check.
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
