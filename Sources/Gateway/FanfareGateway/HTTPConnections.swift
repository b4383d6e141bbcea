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

/// Timeouts of connections.
struct HTTPTimes: Sendable {
    /// Until a request is whole, from the connection's start or the request's first byte; of a streamed body, until more of
    /// it comes.
    var wholeRequest = TimeAmount.seconds(30)
    /// Until the client has taken a part of an answer.
    var answer = TimeAmount.seconds(180)
    /// Of a connection without requests. Longer than the clients' own (Go: 90 s): a request on a connection that is being
    /// closed is repeated.
    var idle = TimeAmount.seconds(180)
    /// Until a key is tested again before a body is read.
    var knownKey = TimeAmount.seconds(1)
}

/// Makes the handlers of a connection: HTTP/1.1 or HTTP/2, which TLS negotiates or the first bytes show.
final class HTTPConnections: Sendable {
    /// SDKs open up to 500 requests a call and assume 100 streams before they have read the settings.
    static let maximumStreams = 250
    /// Above it, the connection ends.
    private static let hardStreamLimit = 1_000
    private static let maximumHeaderBytes = 32_768
    private static let maximumHeaders = 200
    /// Clients reset what they gave up: hundreds at once at their timeout.
    private static let resetsPer30Seconds = 2_000
    private static let pingsPer30Seconds = 1_000

    let responder: Responder
    let maximumConnections: Int
    let times: HTTPTimes
    let dates = HTTPDateText()
    let open = NIOLockedValueBox(0)
    private let bodies: HeldBodies
    /// The bodies of requests to paths that need no key.
    private let strangersBodies: HeldBodies

    /// - Parameter maximumHeldBytes: of the bodies of all requests at once.
    init(
        responder: Responder,
        maximumConnections: Int,
        times: HTTPTimes = HTTPTimes(),
        maximumHeldBytes: Int = HeldBodies.usualLimit
    ) {
        (self.responder, self.maximumConnections, self.times) = (responder, maximumConnections, times)
        bodies = HeldBodies(limit: maximumHeldBytes)
        strangersBodies = HeldBodies(limit: maximumHeldBytes / 8)
    }

    /// What counts the bodies of requests to a path.
    func bodies(of path: String) -> HeldBodies { responder.needsKey(path) ? bodies : strangersBodies }

    /// Adds the handlers of a plain connection.
    func addPlain(to channel: any Channel) throws {
        guard admit(channel) else { return channel.close(promise: nil) }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HeldReads())
        let clocks = ConnectionClocks(times, of: channel)
        try pipeline.addHandler(ArrivalWatch(clocks))
        try pipeline.addHandler(
            PlainStart { [self] isHTTP2 in
                if isHTTP2 { try addHTTP2(to: channel, clocks) } else { try addHTTP1(to: channel, clocks) }
            }
        )
    }

    /// Adds the handlers that follow the one of TLS. A connection counts from its start, before its handshake.
    func addAfterTLS(to channel: any Channel) throws {
        guard admit(channel) else { return channel.close(promise: nil) }
        let handler = ApplicationProtocolNegotiationHandler { [self] result, channel in
            channel.eventLoop.makeCompletedFuture { [self] in
                let clocks = ConnectionClocks(times, of: channel)
                try channel.pipeline.syncOperations.addHandler(ArrivalWatch(clocks))
                if result == .negotiated("h2") {
                    try addHTTP2(to: channel, clocks)
                } else {
                    try addHTTP1(to: channel, clocks)
                }
            }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func admit(_ channel: any Channel) -> Bool {
        let isAdmitted = open.withLockedValue { [maximumConnections] open in
            if open < maximumConnections { open += 1 } else { return false }
            return true
        }
        if isAdmitted { channel.closeFuture.whenComplete { [self] _ in open.withLockedValue { $0 -= 1 } } }
        return isAdmitted
    }

    private func addHTTP1(to channel: any Channel, _ clocks: ConnectionClocks) throws {
        let pipeline = channel.pipeline.syncOperations
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (Self.maximumHeaderBytes, Self.maximumHeaderBytes)
        limits.maxHeaderFieldCount = Self.maximumHeaders
        let sent = SentAnswers()
        try pipeline.addHandler(sent)
        try pipeline.configureHTTPServerPipeline(
            withErrorHandling: true,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: limits
        )
        try pipeline.addHandler(RequestGate.handler())
        try pipeline.addHandler(HTTP1Connection(self, on: channel, sent: sent, clocks: clocks))
    }

    private func addHTTP2(to channel: any Channel, _ clocks: ConnectionClocks) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.hardStreamLimit),
            HTTP2Setting(parameter: .maxHeaderListSize, value: Self.maximumHeaderBytes),
        ]
        connection.controlFrameRateLimit.maximumCount = Self.pingsPer30Seconds
        connection.maximumRecentlyResetStreams = Self.maximumStreams
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = Self.resetsPer30Seconds
        stream.streamErrorRateLimit.maximumCount = Self.resetsPer30Seconds
        let sent = SentAnswers()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(sent)
        try pipeline.addHandler(
            EarlyStreams {
                clocks.request.stop()
                clocks.request.awaitNext()
            }
        )
        try pipeline.addHandler(AdvertisedStreams(limit: Self.maximumStreams))
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
        )
        try pipeline.addHandler(HTTP2Connection(self, on: channel, sent: sent, clocks: clocks))
    }
}

/// A plain connection of the server; see ``TLSChannel``.
struct PlainChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue { let channel: any Channel }

    let connections: HTTPConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
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
