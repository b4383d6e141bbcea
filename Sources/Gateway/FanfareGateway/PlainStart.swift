internal import NIOCore

/// Finds out by the first bytes of a plain connection whether it speaks HTTP/2, as proxies do, or HTTP/1.1.
final class PlainStart: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// No method of HTTP/1.1 begins like the preface of HTTP/2.
    private static let preface = Array("PRI ".utf8)
    /// From a stop until the first bytes: they may be on their way.
    private static let patience = TimeAmount.seconds(2)

    private let addHandlers: (_ isHTTP2: Bool) throws -> Void
    private var first: ByteBuffer?
    private var ending: Scheduled<Void>?

    /// - Parameter addHandlers: adds the handlers of the protocol at the end of the pipeline.
    init(addHandlers: @escaping (_ isHTTP2: Bool) throws -> Void) { self.addHandlers = addHandlers }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if first?.writeBuffer(&bytes) == nil { first = bytes }
        guard let first, first.readableBytes > 0 else { return }
        let isHTTP2 = Self.preface.starts(with: first.readableBytesView.prefix(Self.preface.count))
        guard !isHTTP2 || first.readableBytes >= Self.preface.count else { return }
        self.first = nil
        do {
            try addHandlers(isHTTP2)
        } catch {
            return context.close(promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(first))
        if let ending {
            ending.cancel()
            context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            ending = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }
}
