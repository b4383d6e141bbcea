internal import NIOCore

/// Flushes once what is written to a connection in one turn of its loop: the answers of many streams go out together.
final class FlushTogether: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    private var isScheduled = false

    func flush(context: ChannelHandlerContext) {
        guard !isScheduled else { return }
        isScheduled = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute {
            let (handler, context) = bound.value
            handler.flushNow(context)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        flushNow(context)
        context.close(mode: mode, promise: promise)
    }

    private func flushNow(_ context: ChannelHandlerContext) {
        guard isScheduled else { return }
        isScheduled = false
        context.flush()
    }
}
