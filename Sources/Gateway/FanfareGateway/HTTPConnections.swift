internal import FanfareHTTP
internal import HummingbirdCore
internal import Logging
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOPosix
internal import NIOTLS
internal import OpenSSLKit

/// Makes the handlers of a connection: HTTP/1.1 or, where TLS negotiated it, HTTP/2.
struct HTTPConnections: Sendable {
    /// SDKs open up to 500 requests a call and assume 100 streams before they have read the settings.
    private static let maximumStreams = 250
    private static let maximumHeaderBytes = 32_768
    /// Clients reset what they gave up: hundreds at once at their timeout.
    private static let resetsPer30Seconds = 2_000
    /// Longer than the clients' own (Go: 90 s): a request on a connection that is being closed is repeated.
    private static let idle = TimeAmount.seconds(180)

    let responder: Responder
    let maximumConnections: Int
    let open = NIOLockedValueBox(0)
    private let dates = HTTPDateText()

    init(responder: Responder, maximumConnections: Int) {
        (self.responder, self.maximumConnections) = (responder, maximumConnections)
    }

    /// Adds the handlers of a plain connection.
    func addPlain(to channel: any Channel) throws {
        guard admit(channel) else { return channel.close(promise: nil) }
        try addHTTP1(to: channel)
    }

    /// Adds the handlers that follow the one of TLS.
    func addAfterTLS(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        let handler = ApplicationProtocolNegotiationHandler { result, channel in
            channel.eventLoop.makeCompletedFuture {
                guard admit(channel) else { return channel.close(promise: nil) }
                if result == .negotiated("h2") { try addHTTP2(to: channel) } else { try addHTTP1(to: channel) }
            }
        }
        try pipeline.addHandler(handler)
    }

    private func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = open.withLockedValue { open in
            if open < maximumConnections { open += 1 } else { return false }
            return true
        }
        if isAdmitted { channel.closeFuture.whenComplete { _ in open.withLockedValue { $0 -= 1 } } }
        return isAdmitted
    }

    private func addHTTP1(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(IdleStateHandler(allTimeout: Self.idle))
        try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
        try pipeline.addHandler(RequestGate.handler())
        try pipeline.addHandler(IdleEnd())
        try pipeline.addHandler(HTTPExchanges(responder: responder, dates: dates))
    }

    private func addHTTP2(to channel: any Channel) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.maximumStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: Self.maximumHeaderBytes),
        ]
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = Self.resetsPer30Seconds
        stream.streamErrorRateLimit.maximumCount = Self.resetsPer30Seconds
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(IdleStateHandler(allTimeout: Self.idle))
        let http2 = NIOHTTP2Handler(
            mode: .server,
            eventLoop: channel.eventLoop,
            connectionConfiguration: connection,
            streamConfiguration: stream
        ) { [responder, dates] stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                try stream.pipeline.syncOperations.addHandler(
                    HTTPExchanges(responder: responder, dates: dates, isStream: true)
                )
            }
        }
        try pipeline.addHandler(http2)
        try pipeline.addHandler(HTTP2End())
    }
}

/// A plain connection of the server; see ``TLSChannel``.
struct PlainChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue { let channel: any Channel }

    let connections: HTTPConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A half-closed connection gets no answers: its peer counts as gone.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            try connections.addPlain(to: channel)
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}

/// Closes an HTTP/1.1 connection that was idle for long.
private final class IdleEnd: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Ends an HTTP/2 connection in order: GOAWAY with the last stream, then the answers of the open streams, then the close.
private final class HTTP2End: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private var streams: Set<HTTP2StreamID> = []
    private var last = HTTP2StreamID.rootStream
    private var isEnding = false

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let created as NIOHTTP2StreamCreatedEvent:
            streams.insert(created.streamID)
            last = max(last, created.streamID)
        case let closed as StreamClosedEvent:
            streams.remove(closed.streamID)
            if isEnding, streams.isEmpty { context.close(promise: nil) }
        case is ChannelShouldQuiesceEvent: end(context)
        // A peer that leaves its answers unread for so long is gone.
        case is IdleStateHandler.IdleStateEvent:
            if streams.isEmpty { end(context) } else { context.close(promise: nil) }
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The HTTP/2 handler answers an error of one stream, such as a frame after its reset.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        guard !isEnding else { return }
        isEnding = true
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
        if streams.isEmpty { context.close(promise: nil) }
    }
}
