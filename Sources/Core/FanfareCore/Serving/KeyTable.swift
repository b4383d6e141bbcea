/// The keys of a gateway. No two have the same name or digest.
public struct KeyTable: Equatable, Sendable {
    public static let maximumKeys = 10_000

    public let keys: [GatewayKey]
    /// In the order of ``keys``, side by side: each search reads all of them.
    private let digests: [KeyDigest]

    public init(_ keys: [GatewayKey] = []) {
        digests = keys.map(\.digest)
        precondition(Set(digests).count == keys.count && Set(keys.map(\.name)).count == keys.count, "a key twice")
        self.keys = keys
    }

    /// Finds the key of a digest. Compares with every key, so its time tells nothing about the digests.
    ///
    /// - Parameter digest: nil for a request without a key.
    public func find(_ digest: KeyDigest?) throws(KeyFault) -> GatewayKey {
        guard let digest else { throw .missing }
        var found = -1
        for index in digests.indices { found = digests[index] == digest ? index : found }
        guard found >= 0 else { throw .wrong }
        return keys[found]
    }
}
