/// Decides by which time a worker signs its token requests: this machine's time of day, until the token endpoint refuses
/// it, and then the endpoint's own.
///
/// Times are milliseconds: Unix time where the name says so, otherwise on a clock that is never set.
public struct TokenEndpointClock: Equatable, Sendable {
    /// A smaller difference is not why an endpoint refuses a time.
    public static let skewMs: Int64 = 30_000
    /// Corrections between two tokens: one that does not help is not repeated without end.
    private static let most = 2

    /// The endpoint's Unix time at 0 of the other clock; nil while the machine's time is used.
    private var offsetMs: Int64?
    private var signedUnixMs: Int64 = 0
    private var corrections = 0

    public init() {}

    /// The Unix time to sign with, which ``correct(endpointUnixMs:nowMs:)`` compares with the endpoint's.
    public mutating func sign(nowMs: Int64, machineUnixMs: Int64) -> Int64 {
        signedUnixMs = offsetMs.map { nowMs + $0 } ?? machineUnixMs
        return signedUnixMs
    }

    /// The endpoint granted a token.
    public mutating func accepted() { corrections = 0 }

    /// The endpoint refused a signed time. Signs by the endpoint's time from now on, if that can help.
    ///
    /// - Parameter endpointUnixMs: the date of its answer; nil if it names none.
    /// - Returns: how far the signed time was ahead of the endpoint's; nil when the same time would be signed again.
    public mutating func correct(endpointUnixMs: Int64?, nowMs: Int64) -> Int64? {
        guard let endpointUnixMs, corrections < Self.most, abs(endpointUnixMs - signedUnixMs) > Self.skewMs else {
            return nil
        }
        corrections += 1
        offsetMs = endpointUnixMs - nowMs
        return signedUnixMs - endpointUnixMs
    }

    /// No correction helped: the machine's time of day is used again.
    public mutating func reset() { (offsetMs, corrections) = (nil, 0) }
}
