internal import StreamWire

/// Where a cluster's node sends a command that is not its own.
struct Redirection: Equatable {
    enum Kind: Equatable {
        /// The slot lives elsewhere from now on.
        case moved
        /// Only this key: its slot is on its way.
        case ask
    }

    let kind: Kind
    let slot: HashSlot
    /// Empty: the node that answered.
    let host: String
    let port: UInt16

    /// Parses an error such as `MOVED 866 10.0.0.1:6379`; nil for any other error.
    init?(_ error: RedisError) {
        switch error.code {
        case .moved: kind = .moved
        case .ask: kind = .ask
        default: return nil
        }
        let words = error.message.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let number = Int(words[1]), let slot = HashSlot(number),
            // The last colon: an IPv6 address has its own.
            let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
            port > 0
        else { return nil }
        self.slot = slot
        host = String(words[2][..<colon])
        self.port = port
    }

    /// - Parameter asked: the address of the node that answered with the redirection.
    func address(from asked: RedisEndpoint.Address) -> RedisEndpoint.Address? {
        ClusterMap.address(host: host, port: port, from: asked)
    }
}
