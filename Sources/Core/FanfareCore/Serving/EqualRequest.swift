/// Decides step by step what a request does that has earlier equal ones in Redis. ``DuplicateRule`` judges their records.
///
/// ```
///             take over                taken
/// looking ────────────────► taking ──────────────► waits in the place of the earlier one
///  ▲   │ wait               │ lost
///  └───┴────────────────────┘
///  └────► sent, answered again, or ended at its deadline
/// ```
public struct EqualRequest: Sendable {
    public enum Event: Sendable {
        /// The records of equal requests, this one's among them, and the gateways that live.
        case records([DuplicateRule.Entry], living: Set<String>)
        /// What this gateway knows of a record is not in Redis yet.
        case changing
        /// Redis did not answer.
        case failed
        /// Whether the earlier request was as it had been read, so that its place is taken.
        case took(Bool)
    }

    public enum Action: Equatable, Sendable {
        /// Reads the records after a pause.
        case look(afterMs: Int64)
        case takeOver(DuplicateRule.Entry, DuplicateRule.Place)
        /// Deletes a record that no request can take over, then looks again.
        case remove(DuplicateRule.Entry)
        /// - isPatient: false to send beside open requests of other gateways.
        case send(isPatient: Bool)
        case answer(ServedAnswer)
        /// Waits for the results of an earlier request.
        case wait(DuplicateRule.Place)
        /// Redis did not answer until the deadline. The place is that of an earlier request which this one may have
        /// taken over; nil for none.
        case end(DuplicateRule.Place?)
        /// The client left, and nothing was taken over.
        case forget
    }

    /// How long a request waits for an open one of another gateway: longer than it takes to know that the gateway is dead,
    /// or for a living one to notice that its client left.
    static let patienceNs: UInt64 = 2_500_000_000
    private static let lookMs: Int64 = 50
    private static let repeatMs: Int64 = 200

    private let request: RequestName
    private let recipients: Int
    private let patientUntilNs: UInt64
    private let endsNs: UInt64
    /// The place that this request may have in Redis, whether or not Redis said so.
    private var taken: DuplicateRule.Place?

    /// - Parameters:
    ///   - request: this gateway's name is in it.
    ///   - deadlineNs: until when its client waits.
    public init(_ request: RequestName, recipients: Int, deadlineNs: UInt64, nowNs: UInt64) {
        (self.request, self.recipients) = (request, recipients)
        patientUntilNs = nowNs + Self.patienceNs
        endsNs = max(deadlineNs, patientUntilNs)
    }

    public mutating func handle(_ event: Event, nowNs: UInt64) -> Action {
        switch event {
        case .records(let entries, let living): return judge(entries, living, nowNs)
        case .changing: return again(Self.lookMs, nowNs)
        case .failed: return again(Self.repeatMs, nowNs)
        case .took(true):
            // The driver reports only what it was asked for.
            return taken.map { .wait($0) } ?? again(0, nowNs)
        case .took(false):
            taken = nil
            return again(0, nowNs)
        }
    }

    /// What is done in place of an action that was decided but not begun, if the client has left: its place may be taken in
    /// Redis, and then waits for the results.
    public func left(after action: Action) -> Action {
        switch action {
        case .wait: action
        case .takeOver: .forget
        default: taken.map { .wait($0) } ?? .forget
        }
    }

    private mutating func judge(
        _ entries: [DuplicateRule.Entry],
        _ living: Set<String>,
        _ nowNs: UInt64
    ) -> Action {
        // Its own record: a push or a take-over was run, though its reply was lost.
        if case .open(let place)? = entries.first(where: { $0.request == request })?.record { return .wait(place) }
        taken = nil
        let isPatient = nowNs < patientUntilNs
        switch DuplicateRule.decide(entries, gateway: request.gateway, living: living) {
        case .wait where isPatient: return .look(afterMs: Self.lookMs)
        // Its deadline may be over: then it is sent, and its answer is deferred.
        case .send, .wait: return .send(isPatient: isPatient)
        case .answer(let answer): return .answer(answer)
        case .takeOver(let entry, let place):
            // A gateway of another version wrote it.
            guard place.indices.count == recipients else { return .remove(entry) }
            taken = place
            return .takeOver(entry, place)
        }
    }

    private func again(_ pauseMs: Int64, _ nowNs: UInt64) -> Action {
        nowNs < endsNs ? .look(afterMs: pauseMs) : .end(taken)
    }
}
