/// Decides whether a request is admitted: by its address, then its key, then the key's rate. What the key may do is
/// asked of the key: ``GatewayKey/permit(_:on:)``.
public struct KeyGate: Sendable {
    private var table: KeyTable
    private var wrongKeys = WrongKeys()
    /// Of keys with a rate that made a request, by name.
    private var rates: [String: KeyRate] = [:]

    public init(_ table: KeyTable) { self.table = table }

    /// Replaces all keys. Keys that keep their name and rate keep what they have used of it.
    public mutating func replaceKeys(_ table: KeyTable) {
        self.table = table
        let names = Set(table.keys.map(\.name))
        rates = rates.filter { names.contains($0.key) }
    }

    /// Whether a digest is that of a key. Counts nothing.
    public func knows(_ digest: KeyDigest?) -> Bool { (try? table.find(digest)) != nil }

    /// Finds the key of a request and counts the request.
    ///
    /// - Parameters:
    ///   - digest: of the key that the request gives; nil if it gives none.
    ///   - address: as ``WrongKeys`` counts it; nil where many clients share one, as through a proxy.
    ///   - now: nanoseconds of a clock that is never set.
    public mutating func admit(
        _ digest: KeyDigest?,
        from address: String?,
        now: UInt64
    ) throws(KeyFault) -> GatewayKey {
        if let address { try wrongKeys.check(address, now: now) }
        let key: GatewayKey
        do throws(KeyFault) { key = try table.find(digest) } catch {
            if let address, let digest { wrongKeys.add(digest, from: address, now: now) }
            throw error
        }
        if let rate = key.rate {
            if rates[key.name]?.rate != rate { rates[key.name] = KeyRate(rate) }
            try rates[key.name]?.admit(now: now)
        }
        return key
    }
}
