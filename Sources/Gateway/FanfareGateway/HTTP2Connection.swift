internal import FanfareHTTP
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// A connection of HTTP/2: its streams, and its end in order: GOAWAY with the last stream, then the answers of the open
/// streams, then the close.
///
/// It handles frames: a channel for each stream would cost several KiB a request that waits. A stream above the limit is
/// refused: the client repeats it, and the connection continues. The HTTP/2 handler's own limit ends the connection, so that
/// it is told a higher one than the client; see ``AdvertisedStreams``.
final class HTTP2Connection: ChannelInboundHandler, HTTPWire {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Bytes that a client may send before more is allowed, for a stream and for the connection.
    static let window = 65_535

    let server: HTTPConnections
    let loop: any EventLoop
    let answers: WaitingAnswers
    let sent: SentAnswers
    var key = KnownKey()
    private let peer: String
    /// The clocks of the connection. The one of a request limits the time of a frame: each stream has a clock of its own.
    private let clocks: ConnectionClocks
    private var context: ChannelHandlerContext?
    /// The streams that have not ended, without refused ones.
    private var streams: [HTTP2StreamID: HTTPExchange] = [:]
    /// Streams of this read whose requests may not be whole.
    private var begun: [HTTPExchange] = []
    private var last = HTTP2StreamID.rootStream
    private var isEnding = false

    init(_ server: HTTPConnections, on channel: any Channel, sent: SentAnswers, clocks: ConnectionClocks) {
        (self.server, loop, self.sent, self.clocks) = (server, channel.eventLoop, sent, clocks)
        answers = WaitingAnswers(on: channel.eventLoop)
        peer = channel.remoteAddress?.ipAddress ?? ""
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: loop)
        clocks.request.onLate = {
            let connection = bound.value
            if connection.streams.isEmpty { connection.close() } else { connection.clocks.request.awaitNext() }
        }
        clocks.idle.onLate = {
            let connection = bound.value
            // A peer that reads no answer for so long counts as lost.
            if connection.streams.isEmpty, !connection.isEnding { connection.end() } else { connection.close() }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish()
        self.context = nil
    }

    // MARK: From the client

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A frame was whole.
        clocks.request.stop()
        clocks.request.awaitNext()
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): receive(headers.headers, isEnd: headers.endStream, on: frame.streamID)
        case .data(let data):
            guard let exchange = streams[frame.streamID] else { return }
            if case .byteBuffer(let bytes) = data.data, bytes.readableBytes > 0 { exchange.receive(bytes) }
            if data.endStream { exchange.end() }
        default: break
        }
    }

    private func receive(_ headers: HPACKHeaders, isEnd: Bool, on stream: HTTP2StreamID) {
        if let exchange = streams[stream] {
            // Trailers.
            if isEnd { exchange.end() }
            return
        }
        last = max(last, stream)
        guard streams.count < HTTPConnections.maximumStreams else {
            return write(.rstStream(.refusedStream), on: stream)
        }
        guard let request = WebRequest(headers, peer: peer) else {
            return write(.rstStream(.protocolError), on: stream)
        }
        let exchange = HTTPExchange(self, stream)
        streams[stream] = exchange
        exchange.begin(request)
        if isEnd { exchange.end() } else { begun.append(exchange) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        for exchange in begun { exchange.startClockOfRequest() }
        begun.removeAll(keepingCapacity: true)
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as NIOHTTP2WindowUpdatedEvent: giveWindow(after: event)
        case let event as StreamClosedEvent: closed(event.streamID)
        case is ChannelShouldQuiesceEvent: end()
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The HTTP/2 handler answers an error of one stream, such as a frame after its reset, unless the answer is at fault.
        guard let error = error as? NIOHTTP2Errors.StreamError else { return close() }
        if let exchange = streams[error.streamID] { end(exchange, .internalError) }
    }

    /// A client may open another stream in the same turn.
    private func closed(_ stream: HTTP2StreamID) {
        streams.removeValue(forKey: stream)?.finish()
        guard isEnding, streams.isEmpty else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        // The stream may end within the write of its last frame.
        loop.execute { bound.value.closeAfterGoAway() }
    }

    private func finish() {
        let exchanges = streams.values
        streams = [:]
        begun = []
        for exchange in exchanges { exchange.finish() }
    }

    // MARK: Windows

    private func giveWindow(after event: NIOHTTP2WindowUpdatedEvent) {
        guard let size = event.inboundWindowSize else { return }
        if event.streamID != .rootStream {
            guard let exchange = streams[event.streamID] else { return }
            exchange.window = Int32(size)
            giveWindow(to: exchange)
        } else if size <= Self.window / 2 {
            // What a stream may send limits what it holds; no stream holds up the others.
            write(.windowUpdate(windowSizeIncrement: Self.window - size), on: .rootStream)
        }
    }

    /// Allows a stream what its reader has taken.
    private func giveWindow(to exchange: HTTPExchange) {
        let given = Int(exchange.window) + exchange.unreadBytes
        guard given <= Self.window / 2, exchange.readsOn, !exchange.isWhole else { return }
        write(.windowUpdate(windowSizeIncrement: Self.window - given), on: exchange.stream)
    }

    func readOn(_ exchange: HTTPExchange) {
        guard streams[exchange.stream] === exchange else { return }
        giveWindow(to: exchange)
        flush()
    }

    func askForBody() {}

    // MARK: Answers

    var isActive: Bool { context?.channel.isActive == true }

    func writeHead(_ reply: WebReply, length: Int?, of exchange: HTTPExchange) {
        var headers = HPACKHeaders()
        headers.reserveCapacity(reply.headers.count + 4)
        headers.add(name: ":status", value: String(reply.status))
        reply.forEachHeader(length: length, date: server.dates.now()) { headers.add(name: $0, value: $1) }
        write(.headers(.init(headers: headers)), on: exchange.stream)
    }

    func writeBody(_ bytes: [UInt8], isEnd: Bool, of exchange: HTTPExchange, _ written: EventLoopPromise<Void>) {
        let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: isEnd)
        write(.data(data), on: exchange.stream, written)
    }

    func flush() { context?.flush() }

    /// The stream ends with its answer.
    func staysOpen(after exchange: HTTPExchange) -> Bool { true }

    func endedAfterItsAnswer(_ exchange: HTTPExchange) {}

    /// Resets a stream that is open.
    func end(_ exchange: HTTPExchange, _ code: HTTP2ErrorCode) {
        guard streams[exchange.stream] === exchange else { return }
        write(.rstStream(code), on: exchange.stream)
        flush()
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload,
        on stream: HTTP2StreamID,
        _ promise: EventLoopPromise<Void>? = nil
    ) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: promise)
    }

    // MARK: The end

    func close() {
        flush()
        context?.close(promise: nil)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        if streams.isEmpty { closeAfterGoAway() } else { writeGoAway(nil) }
    }

    /// Closes after everything that was written.
    private func closeAfterGoAway() {
        let bound = NIOLoopBound(self, eventLoop: loop)
        let written = loop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in bound.value.close() }
        writeGoAway(written)
    }

    private func writeGoAway(_ written: EventLoopPromise<Void>?) {
        write(.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil), on: .rootStream, written)
        flush()
    }
}
