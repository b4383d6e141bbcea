import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import NIOTLS

/// A connection of the TLS port. Hummingbird accepts and closes it; our own handlers speak HTTP on it. Hummingbird's
/// HTTP/2 channel shows requests only, but faults need frames: a reset with a code, a GOAWAY, a stream limit, half an
/// answer.
struct DataChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    let tls: NIOSSLContext
    let host: SimulatorHost

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A half-closed connection gets no answers: its peer counts as gone.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            let host = self.host
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(NIOSSLServerHandler(context: self.tls))
            try pipeline.addHandler(
                ApplicationProtocolNegotiationHandler { result, channel in
                    channel.eventLoop.makeCompletedFuture { try Self.speak(result, on: channel, host: host) }
                }
            )
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        // A stop that takes too long is cancelled: a peer in the middle of its handshake cannot be asked to close.
        await withTaskCancellationHandler {
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }

    private static func speak(_ result: ALPNResult, on channel: any Channel, host: SimulatorHost) throws {
        let pipeline = channel.pipeline.syncOperations
        let limit = host.connectionOpened()
        channel.closeFuture.whenComplete { _ in host.connectionClosed() }
        guard result == .negotiated("h2") else {
            try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
            try pipeline.addHandler(HTTP1Connection(host: host))
            return
        }
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limit ?? HTTP2Connection.defaultStreamLimit),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 32_768),
            HTTP2Setting(parameter: .initialWindowSize, value: HTTP2Connection.streamWindow),
        ]
        // A worker under test may reset hundreds of streams at once; that is no attack.
        connection.controlFrameRateLimit.maximumCount = 1_000_000
        connection.maximumConnectionGlitches = 1_000_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 1_000_000
        stream.streamErrorRateLimit.maximumCount = 1_000_000
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
        )
        try pipeline.addHandler(HTTP2Connection(host: host))
    }
}
