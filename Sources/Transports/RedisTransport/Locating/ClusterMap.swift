internal import StreamWire

/// The nodes of each slot, as one node's `CLUSTER SLOTS` lists them.
struct ClusterMap: Equatable {
    struct Range: Equatable {
        let slots: ClosedRange<Int>
        let primary: RedisEndpoint.Address
        let replicas: [RedisEndpoint.Address]
    }

    let ranges: [Range]

    /// - Parameter asked: the address of the node that answered; an answer without a host means this one.
    /// - Returns: nil when it is no answer to `CLUSTER SLOTS`. Entries without a usable address are left out.
    init?(_ value: RedisValue, from asked: RedisEndpoint.Address) {
        guard let entries = value.array else { return nil }
        ranges = entries.compactMap { entry in
            guard let parts = entry.array, parts.count >= 3, let first = parts[0].integer, let last = parts[1].integer,
                0 <= first, first <= last, last < HashSlot.count
            else { return nil }
            let nodes = parts[2...].map { Self.node($0, from: asked) }
            guard let primary = nodes[0] else { return nil }
            return Range(
                slots: Int(first)...Int(last),
                primary: primary,
                replicas: nodes.dropFirst().compactMap { $0 }
            )
        }
    }

    func primary(of slot: HashSlot) -> RedisEndpoint.Address? {
        ranges.first { $0.slots.contains(slot.number) }?.primary
    }

    /// Each once, in the order of their slots.
    var primaries: [RedisEndpoint.Address] { Self.unique(ranges.map(\.primary)) }
    var everyone: [RedisEndpoint.Address] { Self.unique(ranges.map(\.primary) + ranges.flatMap(\.replicas)) }

    static func address(host: String?, port: UInt16, from asked: RedisEndpoint.Address) -> RedisEndpoint.Address? {
        // `?`: the node has no name to be called by.
        if host == "?" { return nil }
        if let host, !host.isEmpty { return .tcp(host: host, port: port) }
        guard case .tcp(let name, _) = asked else { return nil }
        return .tcp(host: name, port: port)
    }

    private static func node(_ value: RedisValue, from asked: RedisEndpoint.Address) -> RedisEndpoint.Address? {
        guard let parts = value.array, parts.count >= 2, let number = parts[1].integer,
            let port = UInt16(exactly: number), port > 0
        else { return nil }
        return address(host: parts[0].string, port: port, from: asked)
    }

    private static func unique(_ all: [RedisEndpoint.Address]) -> [RedisEndpoint.Address] {
        var seen: [RedisEndpoint.Address] = []
        for address in all where !seen.contains(address) { seen.append(address) }
        return seen
    }
}
