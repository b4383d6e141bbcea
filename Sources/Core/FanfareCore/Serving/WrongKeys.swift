/// Wrong keys of the last minute, by address. An address that tried ten different ones is refused.
///
/// Requests do not count: a producer with one stale key may send hundreds at once, and other producers may share its
/// address. Memory is bounded: beyond 4,096 addresses in a minute, further ones are not counted.
public struct WrongKeys: Sendable {
    static let maximumKeys = 10
    static let maximumAddresses = 4_096
    /// A longer address is cut: a header may have named it.
    private static let maximumAddressBytes = 64
    private static let minuteNs: UInt64 = 60_000_000_000
    private static let secondNs: UInt64 = 1_000_000_000

    private struct Attempt {
        let digest: KeyDigest
        /// The last attempt with this key.
        var atNs: UInt64

        var forgottenNs: UInt64 { atNs.adding(minuteNs) }
    }

    private var attempts: [String: [Attempt]] = [:]
    private var nextSweepNs: UInt64 = 0

    public init() {}

    /// Addresses in memory.
    var count: Int { attempts.count }

    /// - Parameter now: nanoseconds of a clock that is never set.
    /// - Throws: ``KeyFault/address(retrySeconds:)`` while the address is refused.
    public func check(_ address: String, now: UInt64) throws(KeyFault) {
        // The usual case, in which no address has to be read.
        if attempts.isEmpty { return }
        guard let known = attempts[Self.name(address)], known.count >= Self.maximumKeys else { return }
        let counted = known.filter { $0.forgottenNs > now }
        guard counted.count >= Self.maximumKeys, let endNs = counted.map(\.forgottenNs).min() else { return }
        throw .address(retrySeconds: KeyFault.retrySeconds(endNs - now))
    }

    /// Counts a wrong key.
    ///
    /// - Parameter address: of the client. IPv6 addresses count by their network of 64 bits, because one client has all of
    ///   it.
    public mutating func add(_ digest: KeyDigest, from address: String, now: UInt64) {
        let name = Self.name(address)
        if attempts[name] == nil, attempts.count >= Self.maximumAddresses {
            guard now >= nextSweepNs else { return }
            attempts = attempts.filter { $0.value.contains { $0.forgottenNs > now } }
            nextSweepNs = now.adding(Self.secondNs)
            guard attempts.count < Self.maximumAddresses else { return }
        }
        var known = (attempts[name] ?? []).filter { $0.forgottenNs > now }
        if let index = known.firstIndex(where: { $0.digest == digest }) {
            known[index].atNs = now
        } else if known.count < Self.maximumKeys {
            known.append(Attempt(digest: digest, atNs: now))
        }
        attempts[name] = known
    }

    private static func name(_ address: String) -> String {
        if let network = NetworkAddress(address)?.clientNetwork { return network }
        return address.utf8.count <= maximumAddressBytes
            ? address : String(decoding: address.utf8.prefix(maximumAddressBytes), as: UTF8.self)
    }
}
