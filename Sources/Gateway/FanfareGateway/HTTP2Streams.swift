internal import NIOCore
internal import NIOHTTP2

/// The streams of an HTTP/2 connection, and its end in order: GOAWAY with the last stream, then the answers of the open
/// streams, then the close.
///
/// A stream above the limit is refused: the client repeats it, and the connection continues. The HTTP/2 handler's own limit
/// ends the connection, so that it is told a higher one than the client; see ``AdvertisedStreams``.
final class HTTP2Streams: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Above it, the connection ends. Streams of one read count until its end, refused ones too.
    static let hardLimit = 8_192

    private let limit: Int
    /// Of a frame that does not become whole. An open stream has a clock of its own.
    private let clock: RequestClock
    /// Streams that were not refused.
    private var open = 0
    private var last = HTTP2StreamID.rootStream
    private var isEnding = false
    private var context: ChannelHandlerContext?

    init(limit: Int, clock: RequestClock) { (self.limit, self.clock) = (limit, clock) }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        clock.onLate = {
            let streams = bound.value
            if streams.open == 0 { streams.context?.close(promise: nil) } else { streams.clock.awaitNext() }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Streams

    /// - Returns: false for a stream that ``RefusedStream`` answers. ``closed()`` follows any other.
    func admit(_ stream: any Channel) -> Bool {
        progress()
        if let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) { last = max(last, id) }
        guard open < limit else { return false }
        open += 1
        return true
    }

    /// A stream that was admitted has ended: a client may open another one in the same turn.
    func closed() {
        open -= 1
        progress()
        guard isEnding, open == 0, let loop = context?.eventLoop else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        // The stream may end within the write of its last frame.
        loop.execute { bound.value.close() }
    }

    /// A frame was whole.
    private func progress() {
        clock.stop()
        clock.awaitNext()
    }

    // MARK: The connection

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { progress() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: end()
        // A peer that reads no answer for so long counts as lost.
        case is IdleStateHandler.IdleStateEvent:
            if open == 0 { end() } else { context.close(promise: nil) }
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The HTTP/2 handler answers an error of one stream, such as a frame after its reset.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        if open == 0 { close() } else { writeGoAway(nil) }
    }

    /// Closes after everything that was written.
    private func close() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
        writeGoAway(written)
    }

    private func writeGoAway(_ written: EventLoopPromise<Void>?) {
        guard let context else { return }
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: written)
    }
}

/// Refuses a stream: none of its request was processed.
final class RefusedStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    func channelActive(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        // The connection's handler does not know the stream before this turn ends.
        context.eventLoop.execute {
            let (handler, context) = bound.value
            guard context.channel.isActive else { return }
            context.writeAndFlush(handler.wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

/// Writes another limit of streams into the server's first SETTINGS than the HTTP/2 handler enforces.
final class AdvertisedStreams: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private static let headBytes = 9
    private static let settingsType = 4
    private static let settingBytes = 6
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    private static let streamsSetting: UInt16 = 3

    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var bytes) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        replaceLimit(in: &bytes)
        context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The first frame of a server is its SETTINGS.
    private func replaceLimit(in bytes: inout ByteBuffer) {
        let start = bytes.readerIndex
        guard let head = bytes.getBytes(at: start, length: Self.headBytes), head[3] == Self.settingsType else { return }
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let settings = start + Self.headBytes..<start + Self.headBytes + length
        for setting in stride(from: settings.lowerBound, to: settings.upperBound, by: Self.settingBytes)
        where bytes.getInteger(at: setting, as: UInt16.self) == Self.streamsSetting {
            bytes.setInteger(UInt32(limit), at: setting + 2)
        }
    }
}
