/// The state of one lane: a connection from its opening to its end.
///
///     opening ──► ready ──► retiring ──► (drained: closed by the pool)
///        ▲          │           ▲
///        └─ lost ───┘           │
///        └──────────────────────┘
///
/// A lane is one failure domain. It is opening until an answer came, or until its connection is known to multiplex and
/// the server's settings had time to arrive. It retires once anything shows that its connection will carry no more: its
/// transfers end there, and it gets no others.
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
        /// Taken back before libcurl read its body: no sign of the lane's health.
        case withdrawn

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

    /// How long the server's settings, and with them its stream limit, may take after the first streams left.
    static let settingsMs: Int64 = 250

    private(set) var phase = Phase.opening
    private(set) var isMultiplexed: Bool?
    /// When libcurl read the first body on the present connection.
    private var firstReadMs: Int64?
    /// A new lane takes one request. If no answer comes soon it takes a second: if libcurl reads its body before the
    /// first is answered, the connection multiplexes.
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

    mutating func recordAdded() { inFlight += 1 }

    /// libcurl has read the first body on the present connection, now or before.
    mutating func recordFirstRead(nowMs: Int64) {
        if firstReadMs == nil { firstReadMs = nowMs }
    }

    /// libcurl read two bodies on one connection with no answer to either.
    mutating func recordMultiplexing(nowMs: Int64) {
        guard phase == .opening else { return }
        isMultiplexed = true
        advance(nowMs: nowMs)
    }

    /// Lets an opening lane take a second request, or become ready, once the server's settings had time to arrive.
    mutating func advance(nowMs: Int64) {
        guard phase == .opening, let firstReadMs, nowMs - firstReadMs >= Self.settingsMs else { return }
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
            if isEarlier { countEarlierRefusal(nowMs: nowMs) } else { retire() }
        case .streamFailed(let isCalm):
            if !isCalm { window.halve(nowMs: nowMs) }
        case .connectionFailed(let isEarlier):
            if !isEarlier { retire() }
        case .withdrawn:
            break
        }
    }

    /// libcurl left `count` bodies unread for too long.
    ///
    /// - Returns: how many to take back. If nothing runs one stays, to notice when the server allows streams again.
    mutating func stalled(_ count: Int, running: Int, nowMs: Int64) -> Int {
        guard phase == .ready, count > 0 else { return phase == .retiring ? count : 0 }
        if isMultiplexed != false { window.stalled(running: running, nowMs: nowMs) }
        return running == 0 ? count - 1 : count
    }

    /// Halves the window when an earlier connection has refused more than it answered, once for each connection.
    private mutating func countEarlierRefusal(nowMs: Int64) {
        refusedBefore += 1
        if refusedBefore == answeredBefore + 1 { window.halve(nowMs: nowMs) }
    }

    /// The connection is gone; libcurl will open another for the next request.
    mutating func lostConnection() {
        answeredBefore = answeredHere
        answeredHere = 0
        refusedBefore = 0
        firstReadMs = nil
        guard phase == .ready else { return }
        phase = .opening
        isMultiplexed = nil
        probes = 1
    }

    mutating func retire() { phase = .retiring }
}
