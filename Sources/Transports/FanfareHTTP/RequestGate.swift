public import NIOCore
internal import NIOHTTP1

/// Refuses requests of one connection that break ``HostRule`` or ``TransferEncodingRule``: the server answers 400 and
/// closes the connection.
///
/// So the server's handlers and a proxy before the server see the same single host and the same end of each request.
public enum RequestGate {
    /// A handler for one connection, to add to a server's additional handlers.
    public static func handler() -> any RemovableChannelHandler { RequestGateInstaller() }
}

/// Installs the gate after the decoder, because a server's additional handlers do not see the HTTP version.
private final class RequestGateInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(RequestGateHandler(), position: .after(decoder))
        } catch {
            // Close the connection: no request may pass unchecked.
            context.close(promise: nil)
        }
    }
}

private final class RequestGateHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var hasRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        if case .head(let head) = unwrapInboundIn(data), !Self.isValid(head) {
            hasRefused = true
            // As for the decoder's own errors, the server answers 400 after the requests before it.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        context.fireChannelRead(data)
    }
    /// What follows a refused request is no request, and its errors are not answered.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !hasRefused { context.fireErrorCaught(error) }
    }

    private static func isValid(_ head: HTTPRequestHead) -> Bool {
        HostRule.fault(hosts: head.headers["host"], isHTTP10: head.version == .http1_0) == nil
            && TransferEncodingRule.allows(head.headers["transfer-encoding"])
    }
}
