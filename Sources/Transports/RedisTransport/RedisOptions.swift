public import OpenSSLKit

/// Certificates for `rediss://`; without any, the system's authorities are trusted.
public typealias TLSOptions = TLSFiles

/// Deadlines and pauses, in milliseconds.
public struct RedisTimeouts: Equatable, Sendable {
    /// From the look-up of the name to the answer of the last greeting command. Each of the name's addresses but the last
    /// has at most a second to accept. Locating the server by Sentinels or a cluster's nodes has as long once more.
    public var connectMs: Int64 = 5_000
    /// Timeout of a command without one of its own, counted from when bytes last moved.
    public var commandMs: Int64 = 5_000
    /// Reconnects are spread over all of the time between the smallest pause and one that doubles up to the largest.
    public var minBackoffMs: Int64 = 50
    public var maximumBackoffMs: Int64 = 5_000
    /// Pause after a failure that needs an operator, such as a wrong password. It may also be over by itself: a password
    /// or a certificate that is being replaced.
    public var failedRetryMs: Int64 = 5_000
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged.
    public var userTimeoutMs: Int32 = 10_000

    public init() {}
}

/// Limits of a reply; the connection is closed beyond them.
public struct RedisLimits: Equatable, Sendable {
    /// Bytes of one reply, received or built; every element counts 32 besides its own bytes.
    public var maximumReplyBytes = 1 << 30
    /// Arrays inside arrays. hiredis 0.14 itself stops at 7.
    public var maximumDepth = 7
    /// Bytes of one line: a status, an error, a number.
    public var maximumLineBytes = 1 << 16

    public init() {}
}

/// Where a connection stands.
public enum RedisState: Equatable, Sendable {
    /// Before the first `connect()`, then while the first attempt runs. Exits: ready, unavailable, failed, closed.
    case connecting
    /// Commands are taken. Exits: unavailable, failed, closed.
    case ready
    /// Tried again by itself, soon. Exits: ready, failed, closed.
    case unavailable(RedisError)
    /// Wrong credentials, missing rights, a certificate that does not fit: tried again at the longest pause. Exits as above.
    case failed(RedisError)
    /// Final.
    case closed
}

/// The Sentinels' latest answers about the primary that a connection uses.
public struct SentinelState: Equatable, Sendable {
    /// Sentinels of the URL that name a primary.
    public let answering: Int
    public let configured: Int
    /// Whether a majority of the configured Sentinels names the primary in use.
    public let isConfirmed: Bool
}
