/// Decides which parts of `fanfare up` run: each starts when the one before it is ready, starts again when it dies, and is
/// ended in the opposite order. Times are milliseconds on a clock that is never set.
struct Supervisor {
    /// The parts, in the order of their start.
    enum Part: String, CaseIterable, Sendable {
        case redis, sandbox, worker, dashboard, gateway
    }

    enum Event: Equatable, Sendable {
        /// A part can be used.
        case ready(Part)
        /// The process of a part ended: its exit code, or 128 and the number of the signal that killed it.
        case ended(Part, code: Int32)
        case stop
        /// Time passed.
        case tick
    }

    enum Action: Equatable, Sendable {
        case start(Part)
        case terminate(Part)
        case kill(Part)
        /// Every part was ready for the first time.
        case announce
        /// What an operator should know of a part, as the rest of a sentence about it.
        case note(Part, String)
        /// No process is left.
        case finish(code: Int32)
    }

    private enum State: Equatable {
        case waiting
        /// Starts again at a time.
        case pausing(untilMs: Int64)
        case starting(sinceMs: Int64)
        case ready(sinceMs: Int64)
        case ending
        case ended
    }

    /// The wait before a part starts again; it doubles up to ``longestPauseMs``, and begins again after a run of a
    /// minute.
    static let pauseMs: Int64 = 1_000
    static let longestPauseMs: Int64 = 30_000
    static let steadyMs: Int64 = 60_000
    /// A start that takes longer is noted once.
    static let slowMs: Int64 = 20_000
    /// A part has so long for its end, besides what the worker and the gateway wait for.
    static let endMs: Int64 = 5_000

    private let parts: [Part]
    private let drainMs: Int64
    private let waitMs: Int64
    private var states: [Part: State]
    private var deaths: [Part: Int] = [:]
    /// Parts whose slow start is noted.
    private var slow: Set<Part> = []
    private var isAnnounced = false
    private var code: Int32?
    /// When the parts that are ending now are killed.
    private var killMs: Int64 = .max

    /// - Parameters:
    ///   - parts: in the order of their start.
    ///   - drainMs: how long the worker may drain.
    ///   - waitMs: how long the gateway may wait for results.
    init(_ parts: [Part], drainMs: Int64, waitMs: Int64 = 4_000) {
        (self.parts, self.drainMs, self.waitMs) = (parts, drainMs, waitMs)
        states = Dictionary(uniqueKeysWithValues: parts.map { ($0, .waiting) })
    }

    mutating func handle(_ event: Event, nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .ready(let part):
            if case .starting? = states[part] { states[part] = .ready(sinceMs: nowMs) }
        case .ended(let part, let code): ended(part, code, nowMs, &actions)
        case .stop: stop(code: 0)
        case .tick: break
        }
        if code == nil { advance(nowMs, &actions) } else { end(nowMs, &actions) }
        return actions
    }

    private mutating func stop(code: Int32) {
        guard self.code == nil else { return }
        self.code = code
        for part in parts {
            switch states[part] {
            case .waiting, .pausing: states[part] = .ended
            case .starting, .ready, .ending, .ended, nil: break
            }
        }
    }

    private mutating func ended(_ part: Part, _ code: Int32, _ nowMs: Int64, _ actions: inout [Action]) {
        guard self.code == nil else {
            states[part] = .ended
            return
        }
        let how = code > 128 ? "was killed by signal \(code - 128)" : "ended with exit code \(code)"
        // A part that ends by itself at its first start would do so each time. It has said why.
        if !isAnnounced, code <= 128 {
            states[part] = .ended
            actions.append(.note(part, "\(how), so everything ends"))
            return stop(code: part == .redis || code == 0 ? Outcome.unavailable.rawValue : code)
        }
        if case .ready(let since)? = states[part], nowMs - since >= Self.steadyMs { deaths[part] = 0 }
        let count = deaths[part, default: 0]
        deaths[part] = count + 1
        let pause = min(Self.longestPauseMs, Self.pauseMs << Int64(min(count, 5)))
        states[part] = .pausing(untilMs: nowMs + pause)
        actions.append(.note(part, "\(how): it starts again in \(pause / 1_000) s"))
    }

    private mutating func advance(_ nowMs: Int64, _ actions: inout [Action]) {
        for part in parts {
            switch states[part] {
            case .pausing(let until) where nowMs >= until: start(part, nowMs, &actions)
            case .starting(let since) where nowMs - since >= Self.slowMs && !slow.contains(part):
                slow.insert(part)
                actions.append(.note(part, "is not ready after \(Self.slowMs / 1_000) s"))
            default: break
            }
        }
        guard !isAnnounced else { return }
        guard let next = parts.first(where: { !isReady($0) }) else {
            isAnnounced = true
            return actions.append(.announce)
        }
        if states[next] == .waiting { start(next, nowMs, &actions) }
    }

    private func isReady(_ part: Part) -> Bool {
        if case .ready? = states[part] { return true }
        return false
    }

    private mutating func start(_ part: Part, _ nowMs: Int64, _ actions: inout [Action]) {
        states[part] = .starting(sinceMs: nowMs)
        slow.remove(part)
        actions.append(.start(part))
    }

    /// Ends what uses the other parts first: the gateway answers with the worker's results, and the worker needs Redis and
    /// FCM for its drain.
    private mutating func end(_ nowMs: Int64, _ actions: inout [Action]) {
        let order: [[Part]] = [[.gateway], [.worker, .dashboard], [.sandbox], [.redis]]
        for group in order {
            let running = group.filter { states[$0].map { $0 != .ended } ?? false }
            guard !running.isEmpty else { continue }
            for part in running where states[part] != .ending {
                states[part] = .ending
                let own = group.contains(.gateway) ? waitMs : group.contains(.worker) ? drainMs : 0
                killMs = nowMs + own + Self.endMs
                actions.append(.terminate(part))
            }
            if nowMs >= killMs {
                killMs = .max
                actions += running.map { .kill($0) }
            }
            return
        }
        actions.append(.finish(code: code ?? 0))
    }
}
