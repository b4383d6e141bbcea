@testable import FanfareCore

/// Keys and digests of tests.
enum KeyTrial {
    static let second: UInt64 = 1_000_000_000

    /// A digest that holds a number.
    static func digest(_ number: Int) -> KeyDigest {
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }
        guard let digest = KeyDigest(bytes) else { preconditionFailure("32 bytes") }
        return digest
    }

    static func shown(_ number: Int) -> ShownKey { ShownKey(digest(number)) }

    static func time(_ nanoseconds: UInt64 = 0, seconds: Int64 = 1_000_000) -> GateTime {
        GateTime(nanoseconds: nanoseconds, seconds: seconds)
    }

    static func key(_ number: Int, rate: Int? = nil) -> GatewayKey {
        GatewayKey(name: "key-\(number)", proof: .digest(digest(number)), projects: ["demo"], rate: rate)
    }
}
