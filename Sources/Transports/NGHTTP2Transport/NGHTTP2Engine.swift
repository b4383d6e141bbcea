package import EventLoop
package import HTTPLanes

/// Sends over nghttp2, on the sockets and the TLS that Redis and XMPP use: one HTTP/2 session for each lane.
///
/// It speaks HTTP/2 only, and through no proxy.
package final class NGHTTP2Engine: LaneEngine {
    private let loop: EventLoop
    private let configuration: OriginConfiguration

    package init(loop: EventLoop, configuration: OriginConfiguration) {
        precondition(configuration.proxy == nil && !configuration.allowsPlainHTTP, "only over TLS, without a proxy")
        self.loop = loop
        self.configuration = configuration
    }

    package var connectsForRequest: Bool { false }

    package func connect(_ lane: Lane, to origin: String) -> (any LaneConnection)? {
        NGHTTP2Connection(loop: loop, configuration: configuration, origin: Origin(origin), lane: lane)
    }

    package func close() {}
}

extension LanePool {
    /// A pool that sends over nghttp2.
    ///
    /// - Parameter group: the pools of the same loop; a group of its own unless said.
    package convenience init(
        overNGHTTP2 configuration: OriginConfiguration,
        loop: EventLoop,
        group: PoolGroup = PoolGroup()
    ) {
        let engine = NGHTTP2Engine(loop: loop, configuration: configuration)
        self.init(loop: loop, configuration: configuration, engine: engine, group: group)
    }
}
