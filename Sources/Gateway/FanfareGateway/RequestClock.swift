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

/// The clocks of a connection.
struct ConnectionClocks {
    let request: RequestClock
    /// Ends a connection on which no bytes come or go.
    let idle: RequestClock

    init(_ times: HTTPTimes, of channel: any Channel) {
        request = RequestClock(times.wholeRequest, on: channel.eventLoop) { channel.close(promise: nil) }
        idle = RequestClock(times.idle, on: channel.eventLoop) { channel.close(promise: nil) }
        request.start()
        idle.start()
    }
}

/// Tells the clocks of a connection of the bytes that come and go.
final class ArrivalWatch: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = NIOAny

    private let clocks: ConnectionClocks

    init(_ clocks: ConnectionClocks) { self.clocks = clocks }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        clocks.request.bytesCame()
        clocks.idle.start()
        context.fireChannelRead(data)
    }

    func flush(context: ChannelHandlerContext) {
        clocks.idle.start()
        context.flush()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        clocks.request.end()
        clocks.idle.end()
    }
}
