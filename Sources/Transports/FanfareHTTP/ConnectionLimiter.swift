public import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// The connections of one HTTP server: where a new one finds no room, the one that has done nothing for longest goes.
///
/// With a limit alone, whoever opens connections and never ends a request keeps everybody else waiting until they time
/// out.
public final class ConnectionLimiter: Sendable {
    private struct Member {
        let channel: any Channel
        /// Those that came whole and are not answered yet; below 0 when an answer was over before its request.
        var requests = 0
        var lastActivity: Int

        /// Whoever has sent a whole request is answered first.
        func isEvictedBefore(_ other: Member) -> Bool {
            (requests > 0) == (other.requests > 0) ? lastActivity < other.lastActivity : other.requests > 0
        }
    }

    private struct State {
        var members: [ObjectIdentifier: Member] = [:]
        var activities = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: connections that stay open.
    public init(limit: Int) { self.limit = limit }

    /// One for each connection, behind what makes HTTP of its bytes.
    public func handler() -> any RemovableChannelHandler { ConnectionLimiterHandler(self) }

    fileprivate func add(_ channel: any Channel) {
        let evicted: (any Channel)? = state.withLock { state in
            var evicted: (any Channel)?
            if state.members.count >= limit, let last = state.members.min(by: { $0.value.isEvictedBefore($1.value) }) {
                state.members[last.key] = nil
                evicted = last.value.channel
            }
            state.activities += 1
            state.members[ObjectIdentifier(channel)] = Member(channel: channel, lastActivity: state.activities)
            return evicted
        }
        evicted?.close(promise: nil)
    }

    fileprivate func remove(_ channel: any Channel) {
        state.withLock { $0.members[ObjectIdentifier(channel)] = nil }
    }

    /// A request came whole, a part of an answer was written or (`change` -1) its end.
    fileprivate func recordActivity(_ channel: any Channel, _ change: Int = 0) {
        state.withLock { state in
            state.activities += 1
            state.members[ObjectIdentifier(channel)]?.requests += change
            state.members[ObjectIdentifier(channel)]?.lastActivity = state.activities
        }
    }
}

private final class ConnectionLimiterHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limiter: ConnectionLimiter

    init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

    func channelActive(context: ChannelHandlerContext) {
        limiter.add(context.channel)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        limiter.remove(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Parts of a body are no step: they may come as slowly as somebody likes.
        if case .end = unwrapInboundIn(data) { limiter.recordActivity(context.channel, 1) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            limiter.recordActivity(context.channel, -1)
        } else {
            limiter.recordActivity(context.channel)
        }
        context.write(data, promise: promise)
    }
}
