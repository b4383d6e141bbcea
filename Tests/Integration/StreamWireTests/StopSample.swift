import FanfareCore
import FanfareModel

/// First attempts of a job in the order in which they were recorded, and what its `stop_if` says of them.
///
/// In production this state is in Redis, where `judge_guards` of guards.lua changes it. Tests compare this model with the
/// library. `stop_if` judges the sample once it is full, and at the end of the canary whatever its size.
struct StopSample: Equatable, Sendable {
    /// First attempts that are judged at most.
    static let capacity = 1_000

    /// All first attempts since the sample was cleared.
    private(set) var attempts: [FirstAttempt] = []

    /// Records the next first attempt.
    mutating func record(_ attempt: FirstAttempt) { attempts.append(attempt) }

    /// Removes all attempts, as `job resume` does.
    mutating func clear() { attempts = [] }

    /// The attempts that conditions are judged over; nil while they are not judged.
    ///
    /// - Parameter isEndOfCanary: true from the step that records the last first attempt of the canary until the job
    ///   continues. A canary of fewer than ``capacity`` recipients is judged over all its attempts, a larger one over the
    ///   last.
    func judged(isEndOfCanary: Bool) -> ArraySlice<FirstAttempt>? {
        guard attempts.count >= (isEndOfCanary ? 1 : Self.capacity) else { return nil }
        return attempts.suffix(Self.capacity)
    }

    /// The first condition that holds now, in the producer's order; nil when none does or none is judged.
    ///
    /// A condition holds when its count is more than its share of all attempts, which include those that are retried.
    func finding(_ conditions: StopConditions, isEndOfCanary: Bool) -> StopFinding? {
        guard let judged = judged(isEndOfCanary: isEndOfCanary) else { return nil }
        let findings = conditions.text.split(separator: "; ").lazy.compactMap { condition -> StopFinding? in
            let parts = condition.split(separator: ">")
            guard parts.count == 2, let measure = StopMeasure(rawValue: String(parts[0])) else { return nil }
            let count = judged.count { measure.counts($0) }
            return StopFinding(measure: measure, limit: String(parts[1]), count: count, attempts: judged.count)
        }
        return findings.first { $0.count * 1_000 > $0.limitPerMille * $0.attempts }
    }
}

/// The figure of a condition of `stop_if`.
struct StopFinding: Equatable, Sendable {
    let measure: StopMeasure
    /// The condition's share, such as `5%` or `0.5%`.
    let limit: String
    /// First attempts that the measure counts; 0 to ``attempts``.
    let count: Int
    /// 1 or more.
    let attempts: Int

    /// The limit in tenths of a percent.
    var limitPerMille: Int {
        let tenths = limit.contains(".") ? "" : "0"
        return Int(limit.filter(\.isWholeNumber) + tenths) ?? 0
    }

    /// The share in tenths of a percent, rounded up, so that it is always above the limit.
    var perMille: Int { (count * 1_000 + attempts - 1) / attempts }

    /// Text for the job hash, such as `stop_if: failed 6.2% of 1000, more than 5%`.
    var reason: String {
        let share = perMille % 10 == 0 ? "\(perMille / 10)%" : "\(perMille / 10).\(perMille % 10)%"
        return "stop_if: \(measure.rawValue) \(share) of \(attempts), more than \(limit)"
    }
}

extension StopMeasure {
    /// True when the attempt counts for this measure.
    func counts(_ attempt: FirstAttempt) -> Bool {
        switch self {
        case .failed: if case .failed = attempt { true } else { attempt == .unsendable }
        case .unknown: attempt == .unknown
        case .unregistered: attempt == .failed(.unregistered)
        case .invalidArgument: attempt == .failed(.invalidArgument)
        case .senderIDMismatch: attempt == .failed(.senderIDMismatch)
        case .thirdPartyAuthError: attempt == .failed(.thirdPartyAuthError)
        case .unspecifiedError: attempt == .failed(.unspecified)
        }
    }
}

extension FirstAttempt {
    /// Every outcome, in the order of the letters' meaning in FirstAttempt.swift.
    static let all: [FirstAttempt] =
        [.sent, .retryable, .unknown, .unsendable] + ErrorCode.allCases.map { .failed($0) }
}
