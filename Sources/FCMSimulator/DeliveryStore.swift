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
    /// Oldest first; what is before `first` is gone.
    private var kept: [Delivery] = []
    private var first = 0
    private var bytes = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func add(_ delivery: Delivery) {
        // A multicast's thousand deliveries share one body; counting it for each errs on the safe side.
        kept.append(delivery)
        bytes += delivery.sourceSize
        while kept.count - first > limit || bytes > Self.mostBytes, first < kept.count {
            bytes -= kept[first].sourceSize
            first += 1
        }
        // Seldom enough that each delivery is moved once on average.
        if first > kept.count / 2 {
            kept.removeFirst(first)
            first = 0
        }
    }

    /// Oldest first.
    func list(token: String?) -> [Delivery] {
        let ordered = kept[first...]
        guard let token else { return Array(ordered) }
        return ordered.filter { $0.token == token }
    }

    mutating func removeAll() {
        kept = []
        first = 0
        bytes = 0
    }
}
