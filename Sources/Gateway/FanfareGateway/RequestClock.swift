internal import NIOCore

/// Ends what does not become whole in time: a connection whose next request is not whole, or one streamed body.
///
/// ```
///            start              stop            awaitNext           bytes
/// (new) ─────────────► running ──────► stopped ──────────► waiting ───────► running
///                         │ late: `onLate`
/// ```
final class RequestClock {
    private let limit: TimeAmount
    private let loop: any EventLoop
    var onLate: () -> Void
    /// The end of the time; nil while the clock stands.
    private var deadline: NIODeadline?
    /// Fires at ``deadline`` or before it.
    private var timer: Scheduled<Void>?
    private var isWaiting = false
    private var haveBytesCome = false

    init(_ limit: TimeAmount, on loop: any EventLoop, onLate: @escaping () -> Void) {
        (self.limit, self.loop, self.onLate) = (limit, loop, onLate)
    }

    func start() {
        isWaiting = false
        let end = loop.now + limit
        deadline = end
        if timer == nil { schedule(end) }
    }

    /// The request is whole. What came of the next one together with its end counts from the next byte on.
    func stop() { (deadline, isWaiting, haveBytesCome) = (nil, false, false) }

    /// The next request may come: its first byte starts the clock.
    func awaitNext() {
        isWaiting = true
        if haveBytesCome { start() }
    }

    func bytesCame() {
        haveBytesCome = true
        if isWaiting { start() }
    }

    /// Ends the clock, which is not used again.
    func end() {
        stop()
        timer?.cancel()
        timer = nil
        onLate = {}
    }

    private func schedule(_ end: NIODeadline) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        timer = loop.scheduleTask(deadline: end) { bound.value.fire() }
    }

    private func fire() {
        timer = nil
        guard let deadline else { return }
        if loop.now < deadline { return schedule(deadline) }
        stop()
        onLate()
    }
}

/// Tells a clock of the bytes that come.
final class ArrivalWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let clock: RequestClock

    init(_ clock: RequestClock) { self.clock = clock }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        clock.bytesCame()
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        clock.end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { clock.end() }
}
