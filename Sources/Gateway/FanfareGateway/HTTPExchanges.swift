internal import FanfareHTTP
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// The requests of one HTTP/1.1 connection, or of one stream of HTTP/2, one after the other.
///
/// ```
///       head            end             answered
/// idle ──────► reading ─────► answering ──────► idle, or closed
///                 │ too much for its path or the gateway, or streamed
///                 └─────────► answering ──────► dropping the rest ──────► closed
/// ```
/// The client's end of a connection cancels the answer that is being made. A request that is not whole in time ends the
/// connection; see ``RequestClock``.
final class HTTPExchanges: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// What is done with the rest of a body.
    private enum Body {
        /// All of it has come.
        case none
        case kept
        case passed(BodyPipe)
        /// Dropped, this many bytes at most: a client that still writes would not read the answer.
        case dropped(Int)
    }

    private static let droppedBytes = 1_048_576

    private let responder: Responder
    private let bodies: (_ path: String) -> HeldBodies
    private let dates: HTTPDateText
    private let times: HTTPTimes
    private let sent: SentAnswers
    private let isStream: Bool
    private var clock: RequestClock?

    /// The request until it is answered.
    private var request: WebRequest?
    private var body = Body.none
    /// The bytes of ``request``; nil for a request whose body is not kept.
    private var share: BodyShare?
    private var maximumBytes = 0
    private var isHTTP10 = false
    private var isContinueOwed = false
    private var keepsAlive = true
    private var answering: Task<Void, Never>?
    /// Parts of answers that the client has not taken.
    private var unwritten = 0
    private var patience: Scheduled<Void>?
    private var closesOnceTaken = false
    private var isEnding = false
    private var isReadHeld = false
    private var onEnd: (() -> Void)?

    /// - Parameters:
    ///   - bodies: that a request to a path counts in.
    ///   - clock: of the connection; nil for a stream of HTTP/2, which has one request.
    ///   - onEnd: called once with the end of the connection or stream.
    init(
        responder: Responder,
        bodies: @escaping (_ path: String) -> HeldBodies,
        dates: HTTPDateText,
        times: HTTPTimes,
        sent: SentAnswers,
        clock: RequestClock?,
        onEnd: (() -> Void)? = nil
    ) {
        (self.responder, self.bodies, self.dates, self.times, self.sent) = (responder, bodies, dates, times, sent)
        (self.clock, isStream, self.onEnd) = (clock, clock == nil, onEnd)
    }

    // MARK: From the client

    func handlerAdded(context: ChannelHandlerContext) {
        guard isStream else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        clock = RequestClock(times.wholeRequest, on: context.eventLoop) {
            let (exchanges, context) = bound.value
            exchanges.stopReading(context)
        }
        clock?.start()
    }

    func read(context: ChannelHandlerContext) {
        switch body {
        case .passed(let pipe): isReadHeld = pipe.isFull
        // The answer comes first.
        case .dropped(let bytes): isReadHeld = bytes < 0
        case .none, .kept: isReadHeld = false
        }
        if !isReadHeld { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): receive(bytes, context)
        case .end: end(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isEnding = true
            if !isStream, request == nil, answering == nil { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        // The parent of a stream is its connection; that of a connection is the socket that listens.
        let connection = isStream ? context.channel.parent : context.channel
        let request = WebRequest(head, peer: connection?.remoteAddress?.ipAddress ?? "")
        self.request = request
        (keepsAlive, isHTTP10) = (head.isKeepAlive, head.version == .http1_0)
        let isKnown = responder.reads(request.headers["authorization"], request.path)
        let streamedBytes = isKnown ? responder.maximumStreamedBytes(request) : nil
        maximumBytes = isKnown ? streamedBytes ?? responder.maximumBodyBytes(request.path) : 0
        let announced = request.headers["content-length"].flatMap { Int($0) } ?? 0
        isContinueOwed = !isStream && request.headers["expect"]?.lowercased() == "100-continue"
        if announced > maximumBytes || (isContinueOwed && !isKnown) {
            drop(\.isBodyTooLarge)
            // The client waits, or has more to send than is dropped.
            if isContinueOwed || announced > Self.droppedBytes { answer(context) }
        } else if streamedBytes != nil {
            pass(context)
        } else {
            body = .kept
            share = BodyShare(of: bodies(request.path))
            continueIfOwed(context)
        }
    }

    private func continueIfOwed(_ context: ChannelHandlerContext) {
        guard isContinueOwed else { return }
        isContinueOwed = false
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func receive(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        switch body {
        case .none: break
        case .kept:
            let isTooLarge = (request?.body.count ?? 0) + bytes.readableBytes > maximumBytes
            guard !isTooLarge, share?.add(bytes.readableBytes) != false else {
                drop(isTooLarge ? \.isBodyTooLarge : \.isMemoryFull)
                return receive(bytes, context)
            }
            request?.body.append(contentsOf: bytes.readableBytesView)
        case .passed(let pipe):
            clock?.stop()
            pipe.push(bytes)
        case .dropped(let left):
            body = .dropped(left - bytes.readableBytes)
            guard left < bytes.readableBytes else { return }
            if request != nil { answer(context) } else if answering == nil { stopReading(context) }
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        clock?.stop()
        if case .passed(let pipe) = body { pipe.finish() }
        body = .none
        if request != nil {
            answer(context)
        } else if answering == nil, !isStream {
            // It was answered before its end.
            closesOnceTaken = true
            if unwritten == 0 { close(context) }
        }
    }

    /// Drops the body.
    private func drop(_ cause: WritableKeyPath<WebRequest, Bool>) {
        request?[keyPath: cause] = true
        request?.body = []
        share?.release()
        body = .dropped(Self.droppedBytes)
    }

    /// Passes the body on as it is asked for.
    private func pass(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let pipe = BodyPipe { [loop = context.eventLoop] in
            loop.execute {
                let (exchanges, context) = bound.value
                exchanges.readOn(context)
            }
        }
        body = .passed(pipe)
        clock?.stop()
        answer(context, pipe)
    }

    private func readOn(_ context: ChannelHandlerContext) {
        guard case .passed(let pipe) = body else { return }
        continueIfOwed(context)
        if pipe.isWanted { clock?.start() }
        if isReadHeld { read(context: context) }
    }

    /// Ends a connection or stream whose client sends too much or too late.
    private func stopReading(_ context: ChannelHandlerContext) {
        guard isStream else { return close(context) }
        // The request is not processed, is being processed, or was answered.
        reset(request != nil ? .refusedStream : answering != nil ? .internalError : .noError, context)
    }

    private func close(_ context: ChannelHandlerContext) { context.close(promise: nil) }

    private func finish() {
        clock?.end()
        patience?.cancel()
        request = nil
        share?.release()
        if case .passed(let pipe) = body { pipe.finish(.left) }
        body = .none
        answering?.cancel()
        answering = nil
        onEnd.take()?()
    }

    // MARK: To the client

    private func answer(_ context: ChannelHandlerContext, _ pipe: BodyPipe? = nil) {
        guard let request = self.request else { return }
        self.request = nil
        let isHead = request.method == "HEAD"
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let held = share.take()
        answering = Task { [responder, maximumBytes, loop = context.eventLoop] in
            let reply: WebReply
            if let pipe {
                let body = RequestBody(pipe, isGzip: request.isGzip, maximumBytes: maximumBytes)
                reply = await responder.stream(request.withoutGzip, body)
            } else {
                var share = held
                reply = await responder.respond(request.inflated(maximumBytes: maximumBytes, &share))
                share?.release()
            }
            guard let body = reply.body, !isHead else {
                return loop.execute {
                    let (exchanges, context) = bound.value
                    exchanges.write(reply, isHead: isHead, context)
                }
            }
            do {
                try await loop.flatSubmit { bound.value.0.writeHead(reply, length: nil, bound.value.1) }.get()
                try await body { bytes in
                    try await loop.flatSubmit { bound.value.0.write(bytes, bound.value.1) }.get()
                }
                loop.execute { bound.value.0.writeEnd(reply, bound.value.1) }
            } catch {
                reply.onEnd?(false)
                loop.execute { bound.value.0.breakOff(bound.value.1) }
            }
        }
    }

    private func write(_ reply: WebReply, isHead: Bool, _ context: ChannelHandlerContext) {
        // Without it, the client left meanwhile.
        guard answering != nil, context.channel.isActive else {
            reply.onEnd?(false)
            return
        }
        _ = writeHead(reply, length: reply.bytes.count, context)
        if !isHead, !reply.bytes.isEmpty {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: reply.bytes)))),
                promise: nil
            )
        }
        writeEnd(reply, context)
    }

    /// - Parameter length: nil for a body that follows in pieces.
    private func writeHead(
        _ reply: WebReply,
        length: Int?,
        _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        guard answering != nil, context.channel.isActive else {
            return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        var headers = HTTPHeaders()
        if let type = reply.type { headers.add(name: "content-type", value: type) }
        for (name, value) in reply.headers { headers.add(name: name.lowercased(), value: value) }
        if let length, reply.status != 204 { headers.add(name: "content-length", value: String(length)) }
        headers.add(name: "date", value: dates.now())
        // The end of a body without length is the connection's for HTTP/1.0. A request that is not whole is not read on.
        if case .none = body {} else { keepsAlive = false }
        if isEnding || (isHTTP10 && length == nil) { keepsAlive = false }
        if !keepsAlive, !isStream { headers.add(name: "connection", value: "close") }
        let version: HTTPVersion = isHTTP10 && length == nil ? .http1_0 : .http1_1
        let head = HTTPResponseHead(version: version, status: .init(statusCode: reply.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        return context.eventLoop.makeSucceededVoidFuture()
    }

    /// Writes a piece of a body, and is over when the client has taken it.
    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        guard answering != nil, context.channel.isActive else {
            return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        let written = promise(context)
        let buffer = context.channel.allocator.buffer(bytes: bytes)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: written)
        awaitTaken(context)
        return written.futureResult
    }

    private func writeEnd(_ reply: WebReply, _ context: ChannelHandlerContext) {
        guard answering != nil, context.channel.isActive else {
            reply.onEnd?(false)
            return
        }
        answering = nil
        let written = promise(context)
        if let onEnd = reply.onEnd {
            let bound = NIOLoopBound((sent, context.eventLoop), eventLoop: context.eventLoop)
            written.futureResult.whenComplete { result in
                let (sent, loop) = bound.value
                if case .success = result { sent.add(onEnd, on: loop) } else { onEnd(false) }
            }
        }
        if case .none = body {
            closesOnceTaken = !isStream && (!keepsAlive || isEnding)
            if !isStream { clock?.awaitNext() }
        } else {
            dropRest(context)
        }
        // The next request may come within the write.
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        awaitTaken(context)
    }

    /// Reads on after an answer to a part of a request, so that the client gets to read it.
    private func dropRest(_ context: ChannelHandlerContext) {
        if case .passed(let pipe) = body { pipe.finish(.left) }
        body = .dropped(Self.droppedBytes)
        clock?.start()
        if isReadHeld { read(context: context) }
    }

    /// Ends an answer whose body failed, so that no part passes for a whole.
    private func breakOff(_ context: ChannelHandlerContext) {
        guard answering != nil else { return }
        answering = nil
        if isStream { reset(.internalError, context) } else { close(context) }
    }

    private func promise(_ context: ChannelHandlerContext) -> EventLoopPromise<Void> {
        let written = context.eventLoop.makePromise(of: Void.self)
        unwritten += 1
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in bound.value.0.taken(bound.value.1) }
        return written
    }

    private func taken(_ context: ChannelHandlerContext) {
        unwritten -= 1
        guard unwritten == 0 else { return }
        patience?.cancel()
        patience = nil
        if closesOnceTaken { close(context) }
    }

    /// Ends the connection or stream of a client that does not read.
    private func awaitTaken(_ context: ChannelHandlerContext) {
        guard unwritten > 0, patience == nil else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        patience = context.eventLoop.scheduleTask(in: times.answer) { bound.value.0.close(bound.value.1) }
    }

    /// Resets a stream of HTTP/2: closing it would be a CANCEL, which some clients do not take for an error.
    private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        typealias Codec = HTTP2FramePayloadToHTTP1ServerCodec
        guard let codec = try? context.pipeline.syncOperations.context(handlerType: Codec.self) else {
            return close(context)
        }
        codec.writeAndFlush(NIOAny(HTTP2Frame.FramePayload.rstStream(code)), promise: nil)
    }
}
