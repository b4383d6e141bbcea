/// The latest deliveries, bounded by number and by bytes.
struct DeliveryStore: Equatable, Sendable {
    static let mostBytes = 128 << 20

    private let limit: Int
    /// Oldest first; what is before `first` is gone.
    private var kept: [Delivery] = []
    private var first = 0
    private var bytes = 0
    /// Where each token's deliveries are, counted from the first one ever kept: an audit asks for thousands of tokens.
    private var places: [UInt64: [Int]] = [:]
    /// How many have been moved out before `kept`.
    private var moved = 0

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    mutating func add(_ delivery: Delivery) {
        // A multicast's thousand deliveries share one body; counting it for each errs on the safe side.
        places[TokenHash.of(delivery.token), default: []].append(moved + kept.count)
        kept.append(delivery)
        bytes += delivery.sourceSize
        while kept.count - first > limit || bytes > Self.mostBytes, first < kept.count {
            bytes -= kept[first].sourceSize
            forget(kept[first].token)
            first += 1
        }
        // Seldom enough that each delivery is moved once on average.
        if first > kept.count / 2 {
            kept.removeFirst(first)
            moved += first
            first = 0
        }
    }

    /// Oldest first.
    func list(token: String?) -> [Delivery] {
        guard let token else { return Array(kept[first...]) }
        return (places[TokenHash.of(token)] ?? []).map { kept[$0 - moved] }.filter { $0.token == token }
    }

    /// The oldest delivery to the token is gone.
    private mutating func forget(_ token: String) {
        let hash = TokenHash.of(token)
        guard var mine = places[hash] else { return }
        mine.removeFirst()
        places[hash] = mine.isEmpty ? nil : mine
    }

    mutating func removeAll() {
        kept = []
        places = [:]
        moved = 0
        first = 0
        bytes = 0
    }
}
