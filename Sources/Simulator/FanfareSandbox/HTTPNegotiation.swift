import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOTLS

/// Chooses HTTP/2 or HTTP/1.1. Hummingbird's HTTP/2 channel shows requests only, but faults need frames: a reset with a
/// code, a GOAWAY, a stream limit, half an answer.
enum HTTPNegotiation {
    static func handler(host: SimulatorHost) -> ApplicationProtocolNegotiationHandler {
        ApplicationProtocolNegotiationHandler { result, channel in
            channel.eventLoop.makeCompletedFuture { try speak(result, on: channel, host: host) }
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
