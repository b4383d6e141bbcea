/// One lane as the decisions see it: a connection from its opening to its end.
///
///     opening ──► ready ──► retiring ──► (drained: closed by the pool)
///        ▲          │           ▲
///        └─ lost ───┘           │
///        └──────────────────────┘
///
/// A lane is one failure domain. It is opening until an answer came, or until its connection is known to multiplex and
/// the server's settings had time to arrive. It retires once anything shows that its connection will carry no more; what
/// runs on it ends there, and it is never fed again.
struct LaneState: Equatable {
    enum Phase: Equatable { case opening, ready, retiring }

    /// How one transfer on this lane ended.
    enum Ending: Equatable {
        case answered(isMultiplexed: Bool?)
        case timedOut
        /// Not processed. `isEarlier`: on a connection before the lane's present one.
        case refused(isEarlier: Bool)
        /// A reset of this stream alone. Not calm: the server asked for less (ENHANCE_YOUR_CALM).
        case streamFailed(isCalm: Bool)
        case connectionFailed(isEarlier: Bool)
        /// Taken back before its body was asked for: says nothing.
        case withdrawn

        /// Ending of a transfer as far as it concerns the lane.
        init(_ facts: TransferFacts, isMultiplexed: Bool?, isEarlier: Bool) {
            let code = facts.code ?? CurlCode.ok
            if facts.refused {
                self = .refused(isEarlier: isEarlier)
            } else if !CurlCode.isOfStreamOnly(code) {
                self = .connectionFailed(isEarlier: isEarlier)
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

    /// How long the server's settings, and with them its stream limit, may take after the first streams left.
    static let settingsMs: Int64 = 250

    private(set) var phase = Phase.opening
    private(set) var isMultiplexed: Bool?
    /// When the first body was asked for on the present connection.
    private var askedAtMs: Int64?
    /// A new lane takes one request. If no answer comes soon it takes a second: asked for its body beside the first, it
    /// shows that the connection multiplexes.
    private var probes = 1
    private(set) var window: StreamWindow
    private(set) var inFlight = 0
    private(set) var answered = 0
    private(set) var refused = 0
    private var answeredHere = 0
    private var answeredBefore = 0
    private var refusedBefore = 0
    private(set) var consecutiveTimeouts = 0
    let openedAtMs: Int64
    private let timeoutsToRetire: Int

    init(window: StreamWindow, timeoutsToRetire: Int, nowMs: Int64) {
        self.window = window
        self.timeoutsToRetire = max(1, timeoutsToRetire)
        openedAtMs = nowMs
    }

    /// Streams that the lane carries when nothing fails; the pool's capacity is their sum.
    var limit: Int {
        switch phase {
        case .retiring: 0
        case .opening, .ready: isMultiplexed == false ? 1 : window.limit
        }
    }

    /// How many transfers it may be given now.
    var room: Int { max(0, (phase == .opening ? min(probes, limit) : limit) - inFlight) }

    var isDrained: Bool { phase == .retiring && inFlight == 0 }

    mutating func fed() { inFlight += 1 }

    mutating func asked(nowMs: Int64) {
        if askedAtMs == nil { askedAtMs = nowMs }
    }

    /// Two bodies were asked for on one connection with no answer to either.
    mutating func sawTwoAtOnce(nowMs: Int64) {
        guard phase == .opening else { return }
        isMultiplexed = true
        passed(nowMs: nowMs)
    }

    mutating func passed(nowMs: Int64) {
        guard phase == .opening, let askedAtMs, nowMs - askedAtMs >= Self.settingsMs else { return }
        probes = 2
        if isMultiplexed == true { phase = .ready }
    }

    mutating func ended(_ ending: Ending, nowMs: Int64) {
        let wasFull = inFlight >= limit
        inFlight -= 1
        switch ending {
        case .answered(let multiplexed):
            answered += 1
            answeredHere += 1
            consecutiveTimeouts = 0
            if let multiplexed { isMultiplexed = multiplexed }
            if phase == .opening { phase = .ready }
            window.answered(wasFull: wasFull, nowMs: nowMs)
        case .timedOut:
            consecutiveTimeouts += 1
            if consecutiveTimeouts >= timeoutsToRetire { retire() }
        case .refused(let isEarlier):
            refused += 1
            // libcurl puts nothing more on a connection that refused a stream; often it has the next one by now.
            if isEarlier { refusedEarlier(nowMs: nowMs) } else { retire() }
        case .streamFailed(let isCalm):
            if !isCalm { window.halve(nowMs: nowMs) }
        case .connectionFailed(let isEarlier):
            if !isEarlier { retire() }
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

    /// Once for each connection: one that refused more than it answered was asked for too much.
    private mutating func refusedEarlier(nowMs: Int64) {
        refusedBefore += 1
        if refusedBefore == answeredBefore + 1 { window.halve(nowMs: nowMs) }
    }

    /// The connection is gone; libcurl will open another for what is fed next.
    mutating func lostConnection() {
        answeredBefore = answeredHere
        answeredHere = 0
        refusedBefore = 0
        askedAtMs = nil
        guard phase == .ready else { return }
        phase = .opening
        isMultiplexed = nil
        probes = 1
    }

    mutating func retire() { phase = .retiring }
}
