package import EventLoop
package import HTTPLanes

/// Sends over libcurl's multi interface: one multi handle for each lane.
package final class CurlEngine: LaneEngine {
    private let loop: EventLoop
    private let configuration: OriginConfiguration
    private let store: TransferStore

    package init(loop: EventLoop, configuration: OriginConfiguration) {
        self.loop = loop
        self.configuration = configuration
        store = TransferStore(configuration: configuration)
    }

    package var connectsForRequest: Bool { true }

    package func connect(_ lane: Lane, to origin: String) -> (any LaneConnection)? {
        CurlConnection(loop: loop, configuration: configuration, store: store, lane: lane)
    }

    package func close() { store.close() }
}

extension LanePool {
    /// A pool that sends over libcurl.
    ///
    /// - Parameter group: the pools of the same loop; a group of its own unless said.
    package convenience init(
        overCurl configuration: OriginConfiguration,
        loop: EventLoop,
        group: PoolGroup = PoolGroup()
    ) {
        let engine = CurlEngine(loop: loop, configuration: configuration)
        self.init(loop: loop, configuration: configuration, engine: engine, group: group)
    }
}
