/// One lane as the decisions see it: a connection from its opening to its end.
///
///     opening ──► ready ──► retiring ──► (drained: closed by the pool)
///        ▲          │           ▲
///        └─ lost ───┘           │
///        └──────────────────────┘
///
/// A lane is one failure domain. It is opening until its connection is known to multiplex, or not to. It retires once
/// anything shows that its connection will carry no more; what runs on it ends there, and it is never fed again.
struct LaneState: Equatable {
    enum Phase: Equatable { case opening, ready, retiring }

    /// How one transfer on this lane ended.
    enum Ending: Equatable {
        case answered(isMultiplexed: Bool?)
        case timedOut
        case refused
        /// A reset of this stream alone. Not calm: the server asked for less (ENHANCE_YOUR_CALM).
        case streamFailed(isCalm: Bool)
        case connectionFailed
        /// Taken back before its body was asked for: says nothing.
        case withdrawn

        /// What a transfer that libcurl ended says of its lane.
        init(_ facts: TransferFacts, isMultiplexed: Bool?) {
            let code = facts.code ?? CurlCode.ok
            if facts.refused {
                self = .refused
            } else if !CurlCode.isOfStreamOnly(code) {
                self = .connectionFailed
            } else if code == CurlCode.streamError {
                // libcurl gives the HTTP/2 error code in its text only; 11 is ENHANCE_YOUR_CALM.
                self = .streamFailed(isCalm: !facts.errorText.contains("(err 11)"))
            } else {
                self = .answered(isMultiplexed: isMultiplexed)
            }
        }
    }

    /// A new lane takes two: the second is asked for its body beside the first only if the connection multiplexes.
    static let probes = 2

    private(set) var phase = Phase.opening
    private(set) var isMultiplexed: Bool?
    private(set) var window: StreamWindow
    private(set) var inFlight = 0
    private(set) var answered = 0
    private(set) var refused = 0
    private(set) var consecutiveTimeouts = 0
    let openedAtMs: Int64
    private let timeoutsToRetire: Int

    init(window: StreamWindow, timeoutsToRetire: Int, nowMs: Int64) {
        self.window = window
        self.timeoutsToRetire = max(1, timeoutsToRetire)
        openedAtMs = nowMs
    }

    /// What it carries when all goes well; what the pool's capacity is counted from.
    var limit: Int {
        switch phase {
        case .retiring: 0
        case .opening, .ready: isMultiplexed == false ? 1 : window.limit
        }
    }

    /// How many transfers it may be given now.
    var room: Int { max(0, (phase == .opening ? min(Self.probes, limit) : limit) - inFlight) }

    var isDrained: Bool { phase == .retiring && inFlight == 0 }

    mutating func fed() { inFlight += 1 }

    /// - Parameter running: transfers whose body was asked for and that have no answer yet.
    mutating func asked(running: Int) {
        guard phase == .opening, running >= 2 else { return }
        isMultiplexed = true
        phase = .ready
    }

    mutating func ended(_ ending: Ending, nowMs: Int64) {
        let wasFull = inFlight >= limit
        inFlight -= 1
        switch ending {
        case .answered(let multiplexed):
            answered += 1
            consecutiveTimeouts = 0
            if let multiplexed { isMultiplexed = multiplexed }
            if phase == .opening { phase = .ready }
            window.answered(wasFull: wasFull, nowMs: nowMs)
        case .timedOut:
            consecutiveTimeouts += 1
            if consecutiveTimeouts >= timeoutsToRetire { retire() }
        case .refused:
            // libcurl puts nothing more on a connection that refused a stream.
            refused += 1
            retire()
        case .streamFailed(let isCalm):
            if !isCalm { window.halve(nowMs: nowMs) }
        case .connectionFailed:
            retire()
        case .withdrawn:
            break
        }
    }

    /// Bodies went unasked for too long. Answers how many of these to take back; without anything running one stays,
    /// to notice when the server allows streams again.
    mutating func stalled(_ count: Int, running: Int, nowMs: Int64) -> Int {
        guard phase == .ready, count > 0 else { return phase == .retiring ? count : 0 }
        if isMultiplexed != false { window.stalled(running: running, nowMs: nowMs) }
        return running == 0 ? count - 1 : count
    }

    /// The connection is gone; libcurl will open another for what is fed next.
    mutating func lostConnection() {
        guard phase == .ready else { return }
        phase = .opening
        isMultiplexed = nil
    }

    mutating func retire() { phase = .retiring }
}
