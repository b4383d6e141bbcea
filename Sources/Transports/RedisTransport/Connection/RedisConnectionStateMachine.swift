/// Decides the next actions of a Redis connection. Events are calls, and their actions are returned, to be performed in
/// order; the driver holds the socket and the commands.
///
///     idle ─► resolving ─► opening ─► securing ─► greeting ─► ready
///                 │            └─ without TLS ───────┘           │
///                 └──────────── any loss ──► waiting ◄───────────┘        close(): closed, from anywhere
///                                               └─► resolving
///
/// A connection that has turned out to be to the wrong server leaves by `leaving`, from `ready`: nothing new is sent, and
/// what was sent gets its own answers first.
struct RedisConnectionStateMachine {
    enum Action: Equatable {
        /// Locate the server and resolve its name; then call `resolved(attempt:addresses:)` or `resolveFailed`.
        case resolve(attempt: UInt64)
        /// Open a socket to the address of that index.
        case open(address: Int)
        case secure
        case greet
        /// One timer, replaced by each of these and by `disarm`.
        case armDeadline(milliseconds: Int64)
        case armBackoff(milliseconds: Int64)
        case disarm
        case dropSocket
        case report(RedisState)
        /// Fail everything in flight. Last in every list: waiters may call back into the connection.
        case failPending(RedisError)
    }

    private enum Phase: Equatable {
        case idle
        case resolving
        case opening(address: Int, of: Int)
        case securing
        /// `failure` is the first error among the greeting's replies.
        case greeting(missing: Int, failure: RedisError?)
        case ready(sinceMs: Int64)
        /// Left for that reason once the last answer is in.
        case leaving(RedisError, sinceMs: Int64)
        case waiting
        case closed
    }

    /// A connection that held this long starts the next backoff from the smallest pause.
    static let stableMs: Int64 = 5_000
    /// Time of an address to accept the connection while there are others.
    private static let addressMs: Int64 = 1_000

    private let timeouts: RedisTimeouts
    private let usesTLS: Bool
    private let greetings: Int
    private var phase = Phase.idle
    private var attempt: UInt64 = 0
    private var failures = 0
    private(set) var state = RedisState.connecting

    init(timeouts: RedisTimeouts, usesTLS: Bool, greetings: Int) {
        self.timeouts = timeouts
        self.usesTLS = usesTLS
        self.greetings = greetings
    }

    var isReady: Bool { if case .ready = phase { true } else { false } }
    var isLeaving: Bool { if case .leaving = phase { true } else { false } }
    var isOpening: Bool { if case .opening = phase { true } else { false } }
    var isSecuring: Bool { phase == .securing }

    mutating func connect() -> [Action] {
        guard phase == .idle else { return [] }
        return [.report(.connecting)] + begin()
    }

    mutating func backoffElapsed() -> [Action] {
        guard phase == .waiting else { return [] }
        return begin()
    }

    /// Ignores the answer for an earlier attempt: a look-up cannot be cancelled.
    mutating func resolved(attempt: UInt64, addresses: Int) -> [Action] {
        guard phase == .resolving, attempt == self.attempt, addresses > 0 else { return [] }
        phase = .opening(address: 0, of: addresses)
        return [.armDeadline(milliseconds: deadlineMs(address: 0, of: addresses)), .open(address: 0)]
    }

    mutating func resolveFailed(attempt: UInt64, error: RedisError, random: Double) -> [Action] {
        guard phase == .resolving, attempt == self.attempt else { return [] }
        return lost(error, nowMs: 0, random: random)
    }

    mutating func opened() -> [Action] {
        guard case .opening(let address, let count) = phase else { return [] }
        let rest: [Action] = address + 1 < count ? [.armDeadline(milliseconds: timeouts.connectMs)] : []
        guard usesTLS else { return rest + greet() }
        phase = .securing
        return rest + [.secure]
    }

    /// An address that does not answer must not use up the time of the addresses after it.
    private func deadlineMs(address: Int, of count: Int) -> Int64 {
        address + 1 < count ? min(timeouts.connectMs, Self.addressMs) : timeouts.connectMs
    }

    mutating func secured() -> [Action] {
        guard phase == .securing else { return [] }
        return greet()
    }

    /// One greeting command was answered.
    mutating func greeted(failure: RedisError?, nowMs: Int64, random: Double) -> [Action] {
        guard case .greeting(let missing, let first) = phase else { return [] }
        let failure = first ?? failure
        guard missing == 1 else {
            phase = .greeting(missing: missing - 1, failure: failure)
            return []
        }
        if let failure { return lost(failure, nowMs: nowMs, random: random) }
        phase = .ready(sinceMs: nowMs)
        state = .ready
        return [.disarm, .report(.ready)]
    }

    mutating func deadlinePassed(nowMs: Int64, random: Double) -> [Action] {
        switch phase {
        case .resolving, .opening, .securing, .greeting:
            let error = RedisError(.timeout, "not connected within \(timeouts.connectMs) ms")
            return lost(error, nowMs: nowMs, random: random)
        case .idle, .ready, .leaving, .waiting, .closed: return []
        }
    }

    /// A command was answered with an error, which its sender has already got.
    ///
    /// - Parameters:
    ///   - isElsewhere: another server is the right one.
    ///   - hasMore: other commands are not answered yet; then ``answered(nowMs:random:)`` follows.
    mutating func commandFailed(
        _ error: RedisError,
        isElsewhere: Bool = false,
        hasMore: Bool = false,
        nowMs: Int64,
        random: Double
    ) -> [Action] {
        guard case .ready(let since) = phase, isElsewhere || error.endsConnection else { return [] }
        guard hasMore else { return lost(error, nowMs: nowMs, random: random) }
        phase = .leaving(error, sinceMs: since)
        return []
    }

    /// The last outstanding command was answered.
    mutating func answered(nowMs: Int64, random: Double) -> [Action] {
        guard case .leaving(let reason, _) = phase else { return [] }
        return lost(reason, nowMs: nowMs, random: random)
    }

    /// The connection broke, or the driver abandons it.
    mutating func lost(_ error: RedisError, nowMs: Int64, random: Double) -> [Action] {
        var reason: RedisError?
        switch phase {
        case .idle, .waiting, .closed: return []
        case .opening(let address, let count) where address + 1 < count:
            phase = .opening(address: address + 1, of: count)
            let deadlineMs = deadlineMs(address: address + 1, of: count)
            return [.dropSocket, .armDeadline(milliseconds: deadlineMs), .open(address: address + 1)]
        case .ready(let since):
            if nowMs - since >= Self.stableMs { failures = 0 }
        case .leaving(let first, let since):
            if nowMs - since >= Self.stableMs { failures = 0 }
            reason = first
        case .resolving, .opening, .securing, .greeting: break
        }
        var error = error
        var isGreeting = false
        if case .greeting(_, let first) = phase {
            isGreeting = true
            // A server that refuses and hangs up has said why before it did.
            if let first, error.code == .connectionLost { error = first }
        }
        phase = .waiting
        if error.code == .tls || (isGreeting && !error.isTransient && error.code != .protocolError) {
            state = .failed(error)
            return [
                .dropSocket, .armBackoff(milliseconds: timeouts.failedRetryMs), .report(state), .failPending(error),
            ]
        }
        let pause = backoff(random)
        failures += 1
        state = .unavailable(reason ?? error)
        return [.dropSocket, .armBackoff(milliseconds: pause), .report(state), .failPending(error)]
    }

    mutating func close() -> [Action] {
        guard phase != .closed else { return [] }
        phase = .closed
        state = .closed
        return [.dropSocket, .disarm, .report(.closed), .failPending(RedisError(.connectionLost, "closed by us"))]
    }

    private mutating func begin() -> [Action] {
        phase = .resolving
        attempt += 1
        return [.armDeadline(milliseconds: timeouts.connectMs), .resolve(attempt: attempt)]
    }

    private mutating func greet() -> [Action] {
        phase = .greeting(missing: greetings, failure: nil)
        return [.greet]
    }

    /// Full jitter between the smallest pause and a ceiling that doubles: servers that come back meet no herd.
    private func backoff(_ random: Double) -> Int64 {
        let floor = timeouts.minBackoffMs
        let ceiling = max(floor, min(timeouts.maximumBackoffMs, floor << Int64(min(failures + 1, 20))))
        return floor + Int64(Double(ceiling - floor) * max(0, min(random, 1)))
    }
}
