/// The state of one lane: a connection from its opening to its end.
///
///     opening ──► ready ──► retiring ──► (drained: closed by the pool)
///        ▲          │           ▲
///        └─ lost ───┘           │
///        └──────────────────────┘
///
/// A lane is one failure domain. It is opening until the server's stream limit is known. An engine that reads the
/// server's settings reports it with ``opened(streams:)``. libcurl does not report them: there a lane is opening until an
/// answer came, or until its connection is known to multiplex and the settings had time to arrive. A lane retires once
/// anything shows that its connection will carry no more: its requests end there, and it gets no others.
package struct LaneState: Equatable {
    package enum Phase: Equatable { case opening, ready, retiring }

    /// How one request on this lane ended.
    package enum Ending: Equatable {
        case answered(isMultiplexed: Bool?)
        /// The answer was too long and was cut: the lane lives, but that is no reason to give it more.
        case cut(isMultiplexed: Bool?)
        case timedOut
        /// Not processed. `isEarlier`: on a connection before the lane's present one.
        case refused(isEarlier: Bool)
        /// A reset of this stream alone. Not calm: the server asked for less (ENHANCE_YOUR_CALM).
        case streamFailed(isCalm: Bool)
        case connectionFailed(isEarlier: Bool)
        /// Taken back before it left: no sign of the lane's health.
        case withdrawn
    }

    /// How long the server's settings, and with them its stream limit, may take after the first streams left.
    static let settingsMs: Int64 = 250

    package private(set) var phase = Phase.opening
    private(set) var isMultiplexed: Bool?
    /// Streams that the server allows; nil while the engine has not reported it.
    package private(set) var serverLimit: Int?
    /// When libcurl read the first body on the present connection.
    private var firstReadMs: Int64?
    /// Requests that the lane takes while it is opening. libcurl connects only for a request, so there a new lane takes
    /// one. If no answer comes soon it takes a second: if libcurl reads its body before the first is answered, the
    /// connection multiplexes.
    private var probes: Int
    private(set) var window: StreamWindow
    package private(set) var inFlight = 0
    /// The server asked for less when it ended the connection.
    private(set) var isOverloaded = false
    private(set) var answered = 0
    private(set) var refused = 0
    private var answeredHere = 0
    private var answeredBefore = 0
    private var refusedBefore = 0
    private(set) var consecutiveTimeouts = 0
    private let connectsItself: Bool
    let openedAtMs: Int64
    private let timeoutsToRetire: Int

    /// - Parameter probes: 1 if the engine connects only for a request, else 0.
    init(window: StreamWindow, timeoutsToRetire: Int, probes: Int = 1, nowMs: Int64) {
        self.window = window
        self.probes = probes
        connectsItself = probes == 0
        self.timeoutsToRetire = max(1, timeoutsToRetire)
        openedAtMs = nowMs
    }

    /// Streams that the lane carries when nothing fails; the pool's capacity is their sum.
    var limit: Int {
        switch phase {
        case .retiring: 0
        case .opening, .ready: isMultiplexed == false ? 1 : min(window.limit, serverLimit ?? .max)
        }
    }

    /// How many transfers it may be given now.
    var room: Int { max(0, (phase == .opening ? min(probes, limit) : limit) - inFlight) }

    package var isDrained: Bool { phase == .retiring && inFlight == 0 }

    /// The connection of a lane that connects without a request ended before the server's settings arrived.
    var couldNotConnect: Bool { connectsItself && isDrained && serverLimit == nil }

    /// The server allows no stream at present.
    var isPaused: Bool { phase == .ready && serverLimit == 0 }

    mutating func recordAdded() { inFlight += 1 }

    /// The connection multiplexes, and the server allows so many streams. Called again when the server changes it; 0
    /// pauses the lane.
    package mutating func opened(streams: Int) {
        serverLimit = max(0, streams)
        isMultiplexed = true
        if phase == .opening { phase = .ready }
    }

    /// The server still serves its open requests, and asks for less (a GOAWAY with ENHANCE_YOUR_CALM).
    package mutating func retireOverloaded(nowMs: Int64) {
        guard !isOverloaded else { return }
        isOverloaded = true
        window.halve(nowMs: nowMs)
        retire()
    }

    /// libcurl has read the first body on the present connection, now or before.
    package mutating func recordFirstRead(nowMs: Int64) {
        if firstReadMs == nil { firstReadMs = nowMs }
    }

    /// libcurl read two bodies on one connection with no answer to either.
    package mutating func recordMultiplexing(nowMs: Int64) {
        guard phase == .opening else { return }
        isMultiplexed = true
        advance(nowMs: nowMs)
    }

    /// Lets an opening lane take a second request, or become ready, once the server's settings had time to arrive.
    package mutating func advance(nowMs: Int64) {
        guard phase == .opening, let firstReadMs, nowMs - firstReadMs >= Self.settingsMs else { return }
        probes = 2
        if isMultiplexed == true { phase = .ready }
    }

    package mutating func ended(_ ending: Ending, nowMs: Int64) {
        let wasFull = inFlight >= limit
        inFlight -= 1
        switch ending {
        case .answered(let multiplexed):
            recordAnswer(multiplexed)
            window.answered(wasFull: wasFull, nowMs: nowMs)
        case .cut(let multiplexed):
            recordAnswer(multiplexed)
        case .timedOut:
            consecutiveTimeouts += 1
            if consecutiveTimeouts >= timeoutsToRetire { retire() }
        case .refused(let isEarlier):
            refused += 1
            // A server that refuses a stream is about to end the connection, or carries all that it can. libcurl puts
            // nothing more on such a connection; often it has the next one by now.
            if isEarlier { countEarlierRefusal(nowMs: nowMs) } else { retire() }
        case .streamFailed(let isCalm):
            if !isCalm { window.halve(nowMs: nowMs) }
        case .connectionFailed(let isEarlier):
            if !isEarlier { retire() }
        case .withdrawn:
            break
        }
    }

    private mutating func recordAnswer(_ multiplexed: Bool?) {
        answered += 1
        answeredHere += 1
        consecutiveTimeouts = 0
        if let multiplexed { isMultiplexed = multiplexed }
        if phase == .opening { phase = .ready }
    }

    /// The engine held `count` requests back for too long.
    ///
    /// - Returns: how many to take back. If nothing runs one stays, to notice when the server allows streams again. An
    /// engine that reads the server's limit needs neither: it only has a socket that takes nothing.
    package mutating func stalled(_ count: Int, running: Int, nowMs: Int64) -> Int {
        guard phase == .ready, count > 0 else { return phase == .retiring ? count : 0 }
        if serverLimit != nil { return count }
        if isMultiplexed != false { window.stalled(running: running, nowMs: nowMs) }
        return running == 0 ? count - 1 : count
    }

    /// Halves the window when an earlier connection has refused more than it answered, once for each connection.
    private mutating func countEarlierRefusal(nowMs: Int64) {
        refusedBefore += 1
        if refusedBefore == answeredBefore + 1 { window.halve(nowMs: nowMs) }
    }

    /// The connection is gone; libcurl will open another for the next request.
    package mutating func lostConnection() {
        answeredBefore = answeredHere
        answeredHere = 0
        refusedBefore = 0
        firstReadMs = nil
        guard phase == .ready else { return }
        phase = .opening
        isMultiplexed = nil
        probes = 1
    }

    package mutating func retire() { phase = .retiring }
}
