internal import NIOCore

/// The answers that were written to a connection a moment ago.
///
/// A write that succeeded says that the kernel has the bytes. A peer that resets the connection just after it has not read
/// them: its request counts as unanswered. An orderly end says that it has.
final class SentAnswers: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    /// Longer than a reset takes.
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
