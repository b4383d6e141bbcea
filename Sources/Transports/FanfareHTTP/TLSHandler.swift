internal import NIOCore
internal import NIOTLS
internal import OpenSSLKit

/// The server's side of TLS on one connection, over OpenSSL.
///
/// Order of a connection: handshake, open, closing, closed. `TLSUserEvent.handshakeCompleted` reports the protocol that
/// was negotiated. A peer that does not complete the handshake within 30 seconds is disconnected, and within five when the
/// server stops. A close sends what was
/// written and the close_notify, and waits for the peer's for five seconds: closing a socket with unread bytes resets it,
/// and the peer would lose the end of what was sent.
///
/// ``HeldReads`` stands before it: each of a peer's key updates has an answer.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State { case handshake, open, closing, closed }

    private static let handshakePatience = TimeAmount.seconds(30)
    private static let closePatience = TimeAmount.seconds(5)
    /// The largest TLS record.
    private static let recordSize = 16_384

    private let session: TLSSession
    private var state = State.handshake
    /// Written and not yet flushed, or flushed before the end of the handshake.
    private var unsent: ByteBuffer?
    private var unsentPromises: [EventLoopPromise<Void>] = []
    private var isFlushed = false
    private var didRead = false
    private var closePromise: EventLoopPromise<Void>?
    private var timeout: Scheduled<Void>?
    private var isStopping = false

    init(context: TLSServerContext) throws {
        session = try TLSSession(context: context)
    }

    // MARK: From the peer

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { awaitHandshake(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        awaitHandshake(context)
        context.fireChannelActive()
    }

    /// The server stops. A peer in the middle of its handshake has little time left for it, and then hears of the stop.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent, state == .handshake else {
            return context.fireUserInboundEventTriggered(event)
        }
        isStopping = true
        timeout?.cancel()
        timeout = nil
        awaitHandshake(context, Self.closePatience)
    }

    private func awaitHandshake(_ context: ChannelHandlerContext, _ patience: TimeAmount = handshakePatience) {
        guard state == .handshake, timeout == nil else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timeout = context.eventLoop.scheduleTask(in: patience) {
            let (handler, context) = bound.value
            handler.closeSocket(context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .closed else { return }
        do {
            try unwrapInboundIn(data).withUnsafeReadableBytes { try session.feed($0) }
            try advance(context)
        } catch {
            fail(error, context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Part of a record is nothing to the handlers after this one, which would ask for more.
        if !didRead { context.read() }
        didRead = false
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(ChannelError.ioOnClosedChannel)
    }

    /// Continues the handshake, and passes on what the peer has sent.
    private func advance(_ context: ChannelHandlerContext) throws {
        if state == .handshake {
            let isComplete = try session.handshake()
            if isComplete {
                state = .open
                timeout?.cancel()
                timeout = nil
            }
            sendCiphertext(context, promise: nil)
            guard isComplete else { return }
            context.fireUserInboundEventTriggered(
                TLSUserEvent.handshakeCompleted(negotiatedProtocol: session.negotiatedProtocol)
            )
            if isStopping { context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
            if isFlushed { try encrypt(context) }
        }
        // A handler after this one may close meanwhile; what comes then is dropped, but for the peer's close_notify.
        while state != .closed {
            var plain = context.channel.allocator.buffer(capacity: Self.recordSize)
            var isOver = false
            try plain.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.recordSize) { buffer in
                let count = try session.read(into: buffer)
                isOver = count == nil
                return count ?? 0
            }
            if isOver { return endByPeer(context) }
            guard plain.readableBytes > 0 else { break }
            if state == .open {
                didRead = true
                context.fireChannelRead(wrapInboundOut(plain))
            }
        }
        // An answer to a key update.
        if state != .closed { sendCiphertext(context, promise: nil) }
    }

    /// The peer has sent its close_notify.
    private func endByPeer(_ context: ChannelHandlerContext) {
        if state == .open {
            // Before more is written, so that what the peer has acknowledged is known.
            context.fireUserInboundEventTriggered(TLSUserEvent.shutdownCompleted)
            session.shutdown()
            sendCiphertext(context, promise: nil)
        }
        closeSocket(context)
    }

    // MARK: To the peer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard state == .handshake || state == .open else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        var bytes = unwrapOutboundIn(data)
        // Writes are gathered, so that frames of a turn share TLS records.
        if unsent?.writeBuffer(&bytes) == nil { unsent = bytes }
        if let promise { unsentPromises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {
        isFlushed = true
        guard state == .open else { return }
        do { try encrypt(context) } catch { fail(error, context) }
    }

    /// Sends everything that was written.
    private func encrypt(_ context: ChannelHandlerContext) throws {
        isFlushed = false
        guard let bytes = unsent else {
            unsentPromises.forEach { $0.succeed() }
            unsentPromises = []
            return
        }
        unsent = nil
        try bytes.withUnsafeReadableBytes { try session.write($0) }
        guard !unsentPromises.isEmpty else { return sendCiphertext(context, promise: nil) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        for promise in unsentPromises { sent.futureResult.cascade(to: promise) }
        unsentPromises = []
        sendCiphertext(context, promise: sent)
    }

    private func sendCiphertext(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let bytes = session.removeOutgoing()
        guard !bytes.isEmpty else {
            promise?.succeed()
            return
        }
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: promise)
    }

    // MARK: The end

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input else { return context.close(mode: mode, promise: promise) }
        switch state {
        case .handshake:
            finish(ChannelError.ioOnClosedChannel)
            context.close(promise: promise)
        case .open:
            closePromise = promise
            state = .closing
            do {
                try encrypt(context)
                session.shutdown()
                sendCiphertext(context, promise: nil)
            } catch {
                return fail(error, context)
            }
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            timeout = context.eventLoop.scheduleTask(in: Self.closePatience) {
                let (handler, context) = bound.value
                handler.closeSocket(context)
            }
        case .closing:
            if let closePromise { closePromise.futureResult.cascade(to: promise) } else { closePromise = promise }
        case .closed: context.close(promise: promise)
        }
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        guard state != .closed else { return }
        // An alert, if there is one.
        sendCiphertext(context, promise: nil)
        let promise = closePromise
        closePromise = nil
        finish(error)
        context.fireErrorCaught(error)
        context.close(promise: promise)
    }

    private func closeSocket(_ context: ChannelHandlerContext) {
        guard state != .closed else { return }
        let promise = closePromise
        closePromise = nil
        finish(ChannelError.ioOnClosedChannel)
        context.close(promise: promise)
    }

    /// Ends the session, whose unsent writes fail.
    private func finish(_ error: any Error) {
        state = .closed
        timeout?.cancel()
        timeout = nil
        unsent = nil
        let promises = unsentPromises
        unsentPromises = []
        promises.forEach { $0.fail(error) }
        let closing = closePromise
        closePromise = nil
        closing?.succeed()
    }
}
