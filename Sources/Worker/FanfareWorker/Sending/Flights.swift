internal import FanfareModel
internal import StreamWire

/// A request that is under way.
struct Flight {
    let batch: ActiveBatch
    /// Those that share the request.
    let positions: OneOrMore<Int>
    /// Set for one of the members of a device group that are sent to on their own.
    let member: (round: GroupRound, token: String)?
    /// Which secret it was sent with.
    var credential = 0
    /// In the project's time.
    var startedMs: Int64 = 0
    var startedAt: UInt64 = 0

    init(batch: ActiveBatch, positions: OneOrMore<Int>, member: (GroupRound, String)?) {
        self.batch = batch
        self.positions = positions
        self.member = member
    }

    /// Whom the request names first; most name nobody else.
    var recipient: String { member?.token ?? batch.name(of: positions[0]) }

    /// All whom the request names.
    var recipients: Recipients { Recipients(self) }

    /// Those, each as a text of its own.
    var names: LazyMapCollection<Recipients, String> { recipients.lazy.map(\.string) }

    var kind: RecipientKind { member == nil ? batch.job.spec.kind : .token }

    /// Names that are looked up as they are asked for: nobody needs a list of a thousand.
    struct Recipients: RandomAccessCollection {
        private let positions: OneOrMore<Int>
        private let recipients: [ClaimedRecipient]
        /// Where it is not what the batch calls it.
        private let name: SharedText?

        fileprivate init(_ flight: Flight) {
            positions = flight.positions
            // Taken out of its object: each access to a property of that is watched.
            recipients = flight.batch.recipients
            name = flight.positions.count == 1 ? SharedText(flight.recipient) : nil
        }

        var startIndex: Int { 0 }
        var endIndex: Int { positions.count }

        subscript(index: Int) -> SharedText { name ?? recipients[positions[index]].text }
    }
}

/// Requests under way by their tags, which are used again.
struct Flights {
    private var all: [Flight?] = []
    private var free: [Int] = []
    private(set) var count = 0

    /// - Returns: the tag by which it is found again.
    mutating func add(_ flight: Flight) -> Int {
        count += 1
        guard let tag = free.popLast() else {
            all.append(flight)
            return all.count - 1
        }
        all[tag] = flight
        return tag
    }

    /// Nil for a tag that is not under way.
    mutating func remove(_ tag: Int) -> Flight? {
        guard all.indices.contains(tag), let flight = all[tag] else { return nil }
        all[tag] = nil
        free.append(tag)
        count -= 1
        return flight
    }
}
