/// One message on one device. What the device sees is drawn only when someone looks, since few do.
struct Delivery: Equatable, Sendable {
    enum Source: Equatable, Sendable { case v1([UInt8]), legacy([UInt8]), plainText([UInt8]) }

    var token: String
    var platform: Platform
    var timeMs: Int64
    var messageID: String
    var senderID: String
    /// `/topics/x` for a topic's subscriber.
    var from: String?
    var source: Source

    var sourceSize: Int {
        switch source {
        case .v1(let body), .legacy(let body), .plainText(let body): return body.count
        }
    }
}

/// The latest deliveries, bounded by number and by bytes.
struct DeliveryStore: Equatable, Sendable {
    static let mostBytes = 128 << 20

    private let limit: Int
    private var ring: [Delivery] = []
    private var oldest = 0
    private var bytes = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func add(_ delivery: Delivery) {
        // A multicast's thousand deliveries share one body; counting it for each errs on the safe side.
        bytes += delivery.sourceSize
        if ring.count < limit, bytes <= Self.mostBytes {
            ring.append(delivery)
            return
        }
        guard !ring.isEmpty else {
            bytes = 0
            return
        }
        bytes -= ring[oldest].sourceSize
        ring[oldest] = delivery
        oldest = (oldest + 1) % ring.count
    }

    /// Oldest first.
    func list(token: String?) -> [Delivery] {
        let ordered = ring[oldest...] + ring[..<oldest]
        guard let token else { return Array(ordered) }
        return ordered.filter { $0.token == token }
    }

    mutating func removeAll() {
        ring = []
        oldest = 0
        bytes = 0
    }
}
