/// What a request shows in order to be admitted.
public struct ShownKey: Equatable, Sendable {
    /// SHA-256 of the key or of the access token.
    public let digest: KeyDigest
    /// What it counts as if it is wrong: each assertion of a service account is another one, and all are one wrong key.
    let counted: KeyDigest

    /// - Parameter counted: of an assertion, the digest of ``AccessAssertion/keyIdentity``; nil for a key.
    public init(_ digest: KeyDigest, counted: KeyDigest? = nil) {
        (self.digest, self.counted) = (digest, counted ?? digest)
    }
}

/// The time at which a request is judged.
public struct GateTime: Equatable, Sendable {
    /// Of a clock that is never set.
    public var nanoseconds: UInt64
    /// Unix seconds, for the times in assertions.
    public var seconds: Int64

    public init(nanoseconds: UInt64, seconds: Int64) { (self.nanoseconds, self.seconds) = (nanoseconds, seconds) }
}

/// Decides whether a request is admitted: by its address, then its key, then the key's rate. What the key may do is
/// asked of the key: ``GatewayKey/permit(_:on:)``.
///
/// An ``AccessAssertion`` is admitted like a key after ``remember(_:at:)``: its signature is checked outside, once.
public struct KeyGate: Sendable {
    private var table: KeyTable
    private var wrongKeys = WrongKeys()
    private var assertions = AssertionMemory()
    /// Of keys with a rate that made a request, by name.
    private var rates: [String: KeyRate] = [:]

    public init(_ table: KeyTable) { self.table = table }

    /// Replaces all keys. Keys that keep their name and rate keep what they have used of it; tokens of an account that is
    /// gone, or has another key, are no longer accepted.
    public mutating func replaceKeys(_ table: KeyTable) {
        let old = self.table
        self.table = table
        let names = Set(table.keys.map(\.name))
        rates = rates.filter { names.contains($0.key) }
        assertions.remove { name in
            let key = table.account(name)?.publicKey
            return key == nil || key != old.account(name)?.publicKey
        }
    }

    // MARK: Assertions

    /// The public key of an assertion's issuer; nil for an account that the gateway does not know.
    public func publicKey(of assertion: AccessAssertion) -> PublicKeyText? {
        GatewayKey.name(ofIssuer: assertion.issuer).flatMap { table.account($0)?.publicKey }
    }

    /// Whether the digest is that of a key, or of an assertion whose signature was checked. Counts nothing.
    public func knows(_ digest: KeyDigest) -> Bool {
        assertions.find(digest) != nil || (try? table.find(digest)) != nil
    }

    /// Admits an assertion from now on.
    ///
    /// - Parameters:
    ///   - assertion: its signature is that of `key`.
    ///   - key: what ``publicKey(of:)`` gave. Keys may have been replaced since.
    public mutating func remember(_ assertion: AccessAssertion, signedBy key: PublicKeyText, at digest: KeyDigest) {
        guard publicKey(of: assertion) == key, let lifetime = assertion.lifetime,
            let name = GatewayKey.name(ofIssuer: assertion.issuer)
        else { return }
        assertions.add(AssertionMemory.Entry(key: name, lifetime: lifetime), at: digest)
    }

    /// Decides whether an assertion is traded for a token. Rates count requests, not grants.
    ///
    /// - Parameter isSigned: whether the signature is that of the issuer's key.
    public mutating func grant(
        _ assertion: AccessAssertion,
        isSigned: Bool,
        shown: ShownKey,
        from address: String?,
        now: GateTime
    ) throws(TokenGrant.Fault) {
        guard isSigned else {
            refuse(shown, from: address, now: now)
            throw .assertion(.key)
        }
        do throws(AssertionFault) { try assertion.checkGrant(now: now.seconds) } catch { throw .assertion(error) }
    }

    /// - Throws: ``TokenGrant/Fault/manyWrongKeys(retrySeconds:)`` while the address is refused.
    public func checkGrants(from address: String?, now: GateTime) throws(TokenGrant.Fault) {
        guard let address else { return }
        do throws(KeyFault) { try wrongKeys.check(address, now: now.nanoseconds) } catch {
            guard case .address(let seconds) = error else { return }
            throw .manyWrongKeys(retrySeconds: seconds)
        }
    }

    /// Counts a wrong key.
    public mutating func refuse(_ shown: ShownKey, from address: String?, now: GateTime) {
        if let address { wrongKeys.add(shown.counted, from: address, now: now.nanoseconds) }
    }

    // MARK: Requests

    /// Finds the key of a request and counts the request.
    ///
    /// - Parameters:
    ///   - shown: nil for a request without a key.
    ///   - address: as ``WrongKeys`` counts it; nil where many clients share one, as through a proxy.
    public mutating func admit(
        _ shown: ShownKey?,
        from address: String?,
        now: GateTime
    ) throws(KeyFault) -> GatewayKey {
        if let address { try wrongKeys.check(address, now: now.nanoseconds) }
        let key: GatewayKey
        do throws(KeyFault) { key = try find(shown?.digest, now: now.seconds) } catch {
            if error == .wrong, let shown { refuse(shown, from: address, now: now) }
            throw error
        }
        if let rate = key.rate {
            if rates[key.name]?.rate != rate { rates[key.name] = KeyRate(rate) }
            try rates[key.name]?.admit(now: now.nanoseconds)
        }
        return key
    }

    private func find(_ digest: KeyDigest?, now: Int64) throws(KeyFault) -> GatewayKey {
        guard let digest, let entry = assertions.find(digest), let key = table.account(entry.key) else {
            return try table.find(digest)
        }
        if now > entry.lifetime.upperBound { throw .expired }
        // Its clock is ahead: a new token would be, too.
        guard now >= entry.lifetime.lowerBound else { throw .wrong }
        return key
    }
}
