internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTPTypes

/// Limits the connections of an HTTP server. A new connection above the limit closes the one that was idle for longest.
///
/// With a plain limit, a client that opens connections and never completes a request would block all others until its
/// connections time out.
final class ConnectionLimiter: Sendable {
    private struct Member {
        let channel: any Channel
        /// Complete requests without an answer; below 0 if an answer ended before its request.
        var requests = 0
        var lastActivity: Int

        /// Connections with a complete request are evicted last.
        func isEvictedBefore(_ other: Member) -> Bool {
            (requests > 0) == (other.requests > 0) ? lastActivity < other.lastActivity : other.requests > 0
        }
    }

    private struct State {
        var members: [ObjectIdentifier: Member] = [:]
        var activities = 0
    }

    private let state = NIOLockedValueBox(State())
    private let limit: Int

    /// - Parameter limit: maximum number of open connections.
    init(limit: Int) { self.limit = limit }

    /// A handler for one connection, after the HTTP codec.
    func handler() -> any RemovableChannelHandler { ConnectionLimiterHandler(self) }

    fileprivate func add(_ channel: any Channel) {
        let evicted: (any Channel)? = state.withLockedValue { state in
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
        state.withLockedValue { $0.members[ObjectIdentifier(channel)] = nil }
    }

    /// - Parameter change: 1 for a complete request, -1 for the end of an answer, 0 for a part of an answer.
    fileprivate func recordActivity(_ channel: any Channel, _ change: Int) {
        state.withLockedValue { state in
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
        // Parts of a body are no activity: a client may send them arbitrarily slowly.
        if case .end = unwrapInboundIn(data) { limiter.recordActivity(context.channel, 1) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var change = 0
        if case .end = unwrapOutboundIn(data) { change = -1 }
        limiter.recordActivity(context.channel, change)
        context.write(data, promise: promise)
    }
}
