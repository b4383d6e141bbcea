/// Keeps the latest deliveries, bounded by number and by bytes.
struct DeliveryStore: Equatable, Sendable {
    static let maximumBytes = 128 << 20

    private let limit: Int
    /// Oldest first. Elements before `first` are dropped already.
    private var kept: [Delivery] = []
    private var first = 0
    private var bytes = 0
    /// Positions of each token's deliveries by its hash, counted from the first delivery ever kept. An audit asks for
    /// thousands of tokens.
    private var places: [UInt64: [Int]] = [:]
    /// How many deliveries were removed from the front of `kept`.
    private var moved = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func add(_ delivery: Delivery) {
        // The deliveries of a multicast share one body; counting it for each errs on the safe side.
        places[TokenHash.of(delivery.accepted.token), default: []].append(moved + kept.count)
        kept.append(delivery)
        bytes += delivery.accepted.source.size
        while kept.count - first > limit || bytes > Self.maximumBytes, first < kept.count {
            bytes -= kept[first].accepted.source.size
            forget(kept[first].accepted.token)
            first += 1
        }
        // Each delivery is moved once on average.
        if first > kept.count / 2 {
            kept.removeFirst(first)
            moved += first
            first = 0
        }
    }

    /// Oldest first.
    func list(token: String?) -> [Delivery] {
        guard let token else { return Array(kept[first...]) }
        return (places[TokenHash.of(token)] ?? []).map { kept[$0 - moved] }.filter {
            $0.accepted.token.isExactly(token)
        }
    }

    /// Drops the oldest position of the token.
    private mutating func forget(_ token: String) {
        let hash = TokenHash.of(token)
        guard var mine = places[hash] else { return }
        mine.removeFirst()
        places[hash] = mine.isEmpty ? nil : mine
    }
}
