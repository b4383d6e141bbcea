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
        var lastStep: Int

        /// Whoever has sent a whole request is answered first.
        func goesBefore(_ other: Member) -> Bool {
            (requests > 0) == (other.requests > 0) ? lastStep < other.lastStep : other.requests > 0
        }
    }

    private struct State {
        var members: [ObjectIdentifier: Member] = [:]
        var steps = 0
    }

    private let state = Mutex(State())
    private let most: Int

    /// - Parameter most: connections that stay open.
    public init(most: Int) { self.most = most }

    /// One for each connection, behind what makes HTTP of its bytes.
    public func handler() -> any RemovableChannelHandler { CrowdHandler(self) }

    fileprivate func enter(_ channel: any Channel) {
        let leaver: (any Channel)? = state.withLock { state in
            var leaver: (any Channel)?
            if state.members.count >= most, let last = state.members.min(by: { $0.value.goesBefore($1.value) }) {
                state.members[last.key] = nil
                leaver = last.value.channel
            }
            state.steps += 1
            state.members[ObjectIdentifier(channel)] = Member(channel: channel, lastStep: state.steps)
            return leaver
        }
        leaver?.close(promise: nil)
    }

    fileprivate func leave(_ channel: any Channel) {
        state.withLock { $0.members[ObjectIdentifier(channel)] = nil }
    }

    /// A request came whole, a part of an answer was written or (`change` -1) its end.
    fileprivate func step(_ channel: any Channel, _ change: Int = 0) {
        state.withLock { state in
            state.steps += 1
            state.members[ObjectIdentifier(channel)]?.requests += change
            state.members[ObjectIdentifier(channel)]?.lastStep = state.steps
        }
    }
}

private final class CrowdHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let crowd: ConnectionLimiter

    init(_ crowd: ConnectionLimiter) { self.crowd = crowd }

    func channelActive(context: ChannelHandlerContext) {
        crowd.enter(context.channel)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        crowd.leave(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Parts of a body are no step: they may come as slowly as somebody likes.
        if case .end = unwrapInboundIn(data) { crowd.step(context.channel, 1) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { crowd.step(context.channel, -1) } else { crowd.step(context.channel) }
        context.write(data, promise: promise)
    }
}
