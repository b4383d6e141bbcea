/// The keys of a gateway. No two have the same name or proof.
public struct KeyTable: Equatable, Sendable {
    public static let maximumKeys = 10_000

    public let keys: [GatewayKey]
    /// Of keys that have one, side by side, with the places of their keys: each search reads all of them.
    private let digests: [KeyDigest]
    private let places: [Int]
    /// The places of service accounts, by name.
    private let accounts: [String: Int]

    public init(_ keys: [GatewayKey] = []) {
        precondition(
            Set(keys.map(\.proof)).count == keys.count && Set(keys.map(\.name)).count == keys.count,
            "a key twice"
        )
        self.keys = keys
        var (digests, places, accounts) = ([KeyDigest](), [Int](), [String: Int]())
        for (place, key) in keys.enumerated() {
            switch key.proof {
            case .digest(let digest):
                digests.append(digest)
                places.append(place)
            case .account: accounts[key.name] = place
            }
        }
        (self.digests, self.places, self.accounts) = (digests, places, accounts)
    }

    /// Finds the key of a digest. Compares with every key, so its time tells nothing about the digests.
    ///
    /// - Parameter digest: nil for a request without a key.
    public func find(_ digest: KeyDigest?) throws(KeyFault) -> GatewayKey {
        guard let digest else { throw .missing }
        var found = -1
        for index in digests.indices { found = digests[index] == digest ? index : found }
        guard found >= 0 else { throw .wrong }
        return keys[places[found]]
    }

    /// The key of a service account; nil for a name that no account has.
    func account(_ name: String) -> GatewayKey? { accounts[name].map { keys[$0] } }
}
