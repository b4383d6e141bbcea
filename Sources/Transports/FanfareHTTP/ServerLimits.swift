public import HummingbirdCore
internal import NIOCore

extension HTTP1Channel.Configuration {
    /// A configuration that bounds connections, headers and idle time, and checks `Host`.
    ///
    /// - Parameters:
    ///   - connections: above this number, a new connection closes the one that was idle for longest.
    ///   - idleSeconds: timeout of a connection without traffic.
    public static func limited(connections: Int, idleSeconds: Int64) -> HTTP1Channel.Configuration {
        let limiter = ConnectionLimiter(limit: connections)
        let maximumHeaderBytes = 16_384
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestGate.handler(), limiter.handler()],
            idleTimeout: .seconds(idleSeconds),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: maximumHeaderBytes,
                maxHeaderListSize: maximumHeaderBytes,
                maxHeaderFieldCount: 100
            )
        )
    }
}
