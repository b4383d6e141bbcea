internal import FanfareHTTP
internal import NIOCore
internal import NIOHTTP2

/// One request and its answer.
///
/// ```
///            end              reply              end of the reply
/// reading ─────────► waiting ─────────► writing ─────────► answered
///    │ too much for its path or the gateway, or streamed        │ dropping the rest of the request
///    └─────────────────►                                        └──────► the end of the stream or connection
/// ```
/// The client's end cancels the answer that is being made. A request that is not whole in time ends its stream or its
/// connection; see ``RequestClock``.
///
/// Many exchanges wait at once: what is only needed while a request is read is in ``Intake``.
final class HTTPExchange {
    /// What is done with the rest of a body.
    private enum Body {
        /// All of it has come.
        case none
        case kept
        case passed(BodyPipe)
        /// Dropped, this many bytes at most: a client that still writes would not read the answer.
        case dropped(Int)
    }

    private enum Phase { case reading, waiting, writing, answered, left }

    /// The request as far as it was read.
    private final class Intake {
        var request: WebRequest
        let maximumBytes: Int
        var share: BodyShare?

        init(_ request: WebRequest, maximumBytes: Int) { (self.request, self.maximumBytes) = (request, maximumBytes) }
    }

    private static let droppedBytes = 1_048_576
    /// The largest body that is answered on the loop: some take a millisecond to parse.
    private static let bytesOnLoop = 16_384

    let wire: any HTTPWire
    /// The root stream for HTTP/1.1.
    let stream: HTTP2StreamID
    /// Bytes that the client may send on its stream.
    var window = Int32(HTTP2Connection.window)
    private var phase = Phase.reading
    private var body = Body.none
    private var isHead = false
    private var isContinueOwed = false
    private var closesOnceTaken = false
    /// Parts of the answer that the client has not taken.
    private var unwritten: Int32 = 0
    private var intake: Intake?
    private var clock: RequestClock?
    private var cancel: (@Sendable () -> Void)?
    private var patience: Scheduled<Void>?

    /// - Parameter clock: of the connection; nil for a stream of HTTP/2, which gets one when it needs one.
    init(_ wire: any HTTPWire, _ stream: HTTP2StreamID = .rootStream, clock: RequestClock? = nil) {
        (self.wire, self.stream, self.clock) = (wire, stream, clock)
    }

    // MARK: From the client

    /// Whether all of the request has come.
    var isWhole: Bool { if case .none = body { true } else { false } }

    /// Whether more of the body may be read.
    var readsOn: Bool {
        switch body {
        case .none, .kept: true
        case .passed(let pipe): pipe.count < BodyPipe.fullBytes
        // The answer comes first.
        case .dropped(let bytes): bytes >= 0
        }
    }

    /// Bytes of the body that wait for their reader.
    var unreadBytes: Int { if case .passed(let pipe) = body { pipe.count } else { 0 } }

    func begin(_ request: WebRequest, isContinueOwed: Bool = false) {
        let responder = wire.server.responder
        let isKnown = wire.key.reads(request, on: wire.server, now: wire.loop.now)
        let streamedBytes = isKnown ? responder.maximumStreamedBytes(request) : nil
        let maximumBytes = isKnown ? streamedBytes ?? responder.maximumBodyBytes(request.path) : 0
        let announced = request.headers["content-length"].flatMap { Int($0) } ?? 0
        (isHead, self.isContinueOwed) = (request.method == "HEAD", isContinueOwed)
        intake = Intake(request, maximumBytes: maximumBytes)
        if announced > maximumBytes || (isContinueOwed && !isKnown) {
            drop(\.isBodyTooLarge)
            // The client waits, or has more to send than is dropped.
            if isContinueOwed || announced > Self.droppedBytes { answer() }
        } else if streamedBytes != nil {
            pass()
        } else {
            body = .kept
            continueIfOwed()
        }
    }

    func receive(_ bytes: ByteBuffer) {
        switch body {
        case .none: break
        case .kept: keep(bytes)
        case .passed(let pipe):
            clock?.stop()
            pipe.push(bytes)
        case .dropped(let left):
            body = .dropped(left - bytes.readableBytes)
            guard left < bytes.readableBytes else { return }
            if intake != nil { answer() } else if phase == .answered { stopReading() }
        }
    }

    /// The request is whole.
    func end() {
        clock?.stop()
        if case .passed(let pipe) = body { pipe.finish() }
        body = .none
        if intake != nil { answer() } else if phase == .answered { wire.endedAfterItsAnswer(self) }
    }

    /// Limits the time of a request that did not become whole with what came of it together.
    func startClockOfRequest() { if intake != nil { startClock() } }

    /// Ends a stream or connection whose client sends too much or too late.
    func stopReading() {
        // The request is not processed, is being processed, or was answered.
        wire.end(self, intake != nil ? .refusedStream : phase == .answered ? .noError : .internalError)
    }

    /// The stream or the connection has ended.
    func finish() {
        clock?.end()
        patience?.cancel()
        patience = nil
        intake = nil
        if case .passed(let pipe) = body { pipe.finish(.left) }
        body = .none
        if phase != .answered { phase = .left }
        cancel.take()?()
    }

    private func keep(_ bytes: ByteBuffer) {
        guard let intake else { return }
        let isTooLarge = intake.request.body.count + bytes.readableBytes > intake.maximumBytes
        let share = intake.share ?? BodyShare(of: wire.server.bodies(of: intake.request.path))
        intake.share = share
        guard !isTooLarge, share.add(bytes.readableBytes) else {
            drop(isTooLarge ? \.isBodyTooLarge : \.isMemoryFull)
            return receive(bytes)
        }
        intake.request.body.append(contentsOf: bytes.readableBytesView)
    }

    /// Drops the body.
    private func drop(_ cause: WritableKeyPath<WebRequest, Bool>) {
        intake?.request[keyPath: cause] = true
        intake?.request.body = []
        intake?.share = nil
        body = .dropped(Self.droppedBytes)
    }

    /// Passes the body on as it is asked for.
    private func pass() {
        let bound = NIOLoopBound(self, eventLoop: wire.loop)
        let pipe = BodyPipe { [loop = wire.loop] in loop.execute { bound.value.readOn() } }
        body = .passed(pipe)
        clock?.stop()
        answer(pipe)
    }

    private func readOn() {
        guard case .passed(let pipe) = body else { return }
        continueIfOwed()
        if pipe.isWanted { startClock() }
        wire.readOn(self)
    }

    private func continueIfOwed() {
        guard isContinueOwed else { return }
        isContinueOwed = false
        wire.askForBody()
    }

    private func startClock() {
        if clock == nil {
            let bound = NIOLoopBound(self, eventLoop: wire.loop)
            clock = RequestClock(wire.server.times.wholeRequest, on: wire.loop) { bound.value.stopReading() }
        }
        clock?.start()
    }

    // MARK: The answer

    private func answer(_ pipe: BodyPipe? = nil) {
        guard let intake = self.intake.take() else { return }
        phase = .waiting
        let (responder, maximumBytes) = (wire.server.responder, intake.maximumBytes)
        let isGzip = intake.request.isGzip
        if let pipe {
            let body = RequestBody(pipe, isGzip: isGzip, maximumBytes: maximumBytes)
            let (request, reply) = (intake.request.withoutGzip, wire.answers.reply(to: self))
            let task = Task { reply(await responder.stream(request, body)) }
            cancel = { task.cancel() }
        } else if let share = intake.share, isGzip || intake.request.body.count > Self.bytesOnLoop {
            respondOffLoop(intake.request, maximumBytes: maximumBytes, share)
        } else {
            intake.request.held = intake.share
            cancel = responder.respond(
                isGzip ? intake.request.withoutGzip : intake.request,
                wire.answers.reply(to: self)
            )
        }
    }

    /// Inflates and answers a large request on another thread: on the loop it would stop other connections for up to 100 ms.
    private func respondOffLoop(_ request: WebRequest, maximumBytes: Int, _ share: BodyShare) {
        let bound = NIOLoopBound(self, eventLoop: wire.loop)
        let (responder, reply) = (wire.server.responder, wire.answers.reply(to: self))
        let task = Task { [loop = wire.loop] in
            var request = request.inflated(maximumBytes: maximumBytes, share)
            request.held = share
            // Otherwise the client left.
            guard !Task.isCancelled else { return }
            let leave = responder.respond(request, reply)
            loop.execute { bound.value.setCancel(leave) }
        }
        cancel = { task.cancel() }
    }

    /// The client may have left in the meantime, or the answer may have come first.
    private func setCancel(_ leave: @escaping @Sendable () -> Void) {
        switch phase {
        case .waiting: cancel = leave
        case .left: leave()
        case .reading, .writing, .answered: break
        }
    }

    /// Writes a reply, but for its flush and ``awaitTaken()``, which several replies share.
    func answer(with reply: WebReply) {
        guard phase == .waiting, wire.isActive else {
            reply.onEnd?(false)
            return
        }
        (phase, cancel) = (.writing, nil)
        if let pieces = reply.body, !isHead {
            wire.writeHead(reply, length: nil, of: self)
            write(pieces, of: reply)
        } else {
            wire.writeHead(reply, length: reply.bytes.count, of: self)
            writeEnd(reply, isHead ? [] : reply.bytes)
        }
    }

    private func write(_ pieces: @escaping WebReply.Body, of reply: WebReply) {
        let bound = NIOLoopBound(self, eventLoop: wire.loop)
        let task = Task { [loop = wire.loop] in
            do {
                try await pieces { bytes in try await loop.flatSubmit { bound.value.write(bytes) }.get() }
                loop.execute { bound.value.writeEndOfPieces(reply) }
            } catch {
                reply.onEnd?(false)
                loop.execute { bound.value.breakOff() }
            }
        }
        cancel = { task.cancel() }
    }

    /// Writes a piece of a body, and is over when the client has taken it.
    private func write(_ bytes: [UInt8]) -> EventLoopFuture<Void> {
        guard phase == .writing, wire.isActive else {
            return wire.loop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        let written = promise { _ in }
        wire.writeBody(bytes, isEnd: false, of: self, written)
        wire.flush()
        awaitTaken()
        return written.futureResult
    }

    private func writeEndOfPieces(_ reply: WebReply) {
        guard phase == .writing, wire.isActive else {
            reply.onEnd?(false)
            return
        }
        writeEnd(reply, [])
        wire.flush()
        awaitTaken()
    }

    private func writeEnd(_ reply: WebReply, _ bytes: [UInt8]) {
        (phase, cancel) = (.answered, nil)
        let written = promise { [sent = wire.sent, loop = wire.loop, onEnd = reply.onEnd] isWritten in
            guard let onEnd else { return }
            if isWritten { sent.add(onEnd, on: loop) } else { onEnd(false) }
        }
        if isWhole { closesOnceTaken = !wire.staysOpen(after: self) } else { dropRest() }
        // The next request may come within the write.
        wire.writeBody(bytes, isEnd: true, of: self, written)
    }

    /// Reads on after an answer to a part of a request, so that the client gets to read it.
    private func dropRest() {
        if case .passed(let pipe) = body { pipe.finish(.left) }
        body = .dropped(Self.droppedBytes)
        startClock()
        wire.readOn(self)
    }

    /// Ends an answer whose body failed, so that no part passes for a whole.
    private func breakOff() {
        guard phase == .writing else { return }
        (phase, cancel) = (.answered, nil)
        wire.end(self, .internalError)
    }

    // MARK: What the client has taken

    private func promise(_ onEnd: @escaping (_ isWritten: Bool) -> Void) -> EventLoopPromise<Void> {
        let written = wire.loop.makePromise(of: Void.self)
        unwritten += 1
        written.futureResult.assumeIsolated().whenComplete { result in
            self.taken()
            if case .success = result { onEnd(true) } else { onEnd(false) }
        }
        return written
    }

    private func taken() {
        unwritten -= 1
        guard unwritten == 0 else { return }
        patience?.cancel()
        patience = nil
        if closesOnceTaken { wire.close() }
    }

    /// Ends the stream or connection of a client that does not read.
    func awaitTaken() {
        guard unwritten > 0, patience == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: wire.loop)
        patience = wire.loop.scheduleTask(in: wire.server.times.answer) {
            let exchange = bound.value
            exchange.wire.end(exchange, .cancel)
        }
    }

    func closeOnceTaken() {
        closesOnceTaken = true
        if unwritten == 0 { wire.close() }
    }
}
