internal import Glibc
internal import NIOCore
internal import NIOTLS

/// The answers that were written to a connection a moment ago.
///
/// A write that succeeded says that the kernel has the bytes. A peer that resets the connection just after it has not read
/// them, and neither has one whose orderly end left while they were on their way: its request counts as unanswered. An end
/// that acknowledges all bytes says that the peer has read them: with unread ones, its kernel would have reset.
final class SentAnswers: ChannelInboundHandler {
    typealias InboundIn = NIOAny
    typealias OutboundOut = ByteBuffer

    /// How long an answer may still be lost after its write: longer than a reset takes.
    private static let patience = TimeAmount.milliseconds(250)

    private var answers: [(sentAt: NIODeadline, onEnd: (Bool) -> Void)] = []
    private var timer: Scheduled<Void>?
    private var isBroken = false

    /// Tells what became of an answer, once it is known.
    func add(_ onEnd: @escaping (_ isWritten: Bool) -> Void, on loop: any EventLoop) {
        guard !isBroken else { return onEnd(false) }
        answers.append((loop.now, onEnd))
        schedule(on: loop)
    }

    private func schedule(on loop: any EventLoop) {
        guard timer == nil, let first = answers.first else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        timer = loop.scheduleTask(deadline: first.sentAt + Self.patience) {
            let sent = bound.value
            sent.timer = nil
            let due = sent.answers.prefix { $0.sentAt + Self.patience <= loop.now }
            sent.answers.removeFirst(due.count)
            for answer in due { answer.onEnd(true) }
            sent.schedule(on: loop)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is IOError {
            isBroken = true
            end(isWritten: false)
        }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { return quiesceOnceWritten(context) }
        let isEnd = event as? ChannelEvent == .inputClosed || event as? TLSUserEvent == .shutdownCompleted
        guard isEnd else { return context.fireUserInboundEventTriggered(event) }
        // The handlers after this one see the end of the channel, which follows.
        guard Self.hasUnreadBytes(context) else { return }
        isBroken = true
        end(isWritten: false)
    }

    /// Passes a graceful stop on once the kernel has every answer: NIO's handler of HTTP/1.1 then closes a connection without
    /// requests at once, which drops the answers that a slow client has not read.
    private func quiesceOnceWritten(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in
            bound.value.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// Whether the kernel has bytes that the peer's has not acknowledged.
    private static func hasUnreadBytes(_ context: ChannelHandlerContext) -> Bool {
        let pipeline = context.pipeline.syncOperations
        let count = try? pipeline.withUnsafeTransportIfAvailable { (socket: NIOBSDSocket.Handle) in
            var count: CInt = 0
            return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? count : 0
        }
        return (count ?? 0) > 0
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(isWritten: true)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end(isWritten: true) }

    private func end(isWritten: Bool) {
        timer?.cancel()
        timer = nil
        let rest = answers
        answers = []
        for answer in rest { answer.onEnd(isWritten) }
    }
}
