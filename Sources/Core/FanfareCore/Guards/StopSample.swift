/// The last first attempts of a job, at most ``capacity``, in the order in which they were recorded.
///
/// A ring of one letter an attempt. Redis can keep it as a string of at most ``capacity`` bytes and one number: attempt
/// `n`, from 0, is at offset `n % capacity`. Counts follow from the letters, so they cannot disagree with them.
///
/// `stop_if` judges the sample once it is full, and at the end of the canary whatever its size; see
/// ``counts(isEndOfCanary:)``. `job resume` clears it.
public struct StopSample: Equatable, Sendable {
    /// The largest number of attempts that a stored sample may have: Lua counts exactly up to it.
    private static let mostAttempts: Int64 = 1 << 53
    /// First attempts that the sample holds at most.
    public static let capacity = 1_000

    /// The ring, as it is stored.
    public private(set) var letters: [UInt8] = []
    /// First attempts recorded since the sample was cleared, those that left the ring included. 0 or more.
    public private(set) var attempts: Int64 = 0

    private var tally = AttemptCounts()

    public init() {}

    /// The sample that was stored.
    ///
    /// - Returns: nil when the letters are not those of this many attempts.
    public init?(letters: [UInt8], attempts: Int64) {
        guard (0...Self.mostAttempts).contains(attempts),
            Int64(letters.count) == min(attempts, Int64(Self.capacity))
        else { return nil }
        for letter in letters {
            guard let attempt = FirstAttempt(letter: letter) else { return nil }
            tally.add(attempt)
        }
        self.letters = letters
        self.attempts = attempts
    }

    /// Records the next first attempt. The oldest leaves a full sample.
    public mutating func record(_ attempt: FirstAttempt) {
        if letters.count < Self.capacity {
            letters.append(attempt.letter)
        } else {
            let offset = Int(attempts % Int64(Self.capacity))
            if let oldest = FirstAttempt(letter: letters[offset]) { tally.remove(oldest) }
            letters[offset] = attempt.letter
        }
        tally.add(attempt)
        attempts += 1
    }

    /// Removes all attempts.
    public mutating func clear() { self = StopSample() }

    /// The counts that conditions are judged over; nil while they are not judged.
    ///
    /// - Parameter isEndOfCanary: true from the step that records the last first attempt of the canary until the job goes
    ///   on. A canary of fewer than ``capacity`` recipients is judged over all its attempts, a larger one over the last.
    public func counts(isEndOfCanary: Bool) -> AttemptCounts? {
        guard isEndOfCanary ? attempts > 0 : letters.count == Self.capacity else { return nil }
        return tally
    }
}

/// The number of first attempts in a sample, and how many each measure counts.
public struct AttemptCounts: Equatable, Sendable {
    public private(set) var attempts = 0
    /// By measure, in the order of ``StopMeasure``.
    private var counts = [Int](repeating: 0, count: StopMeasure.allCases.count)

    public init() {}

    /// 0 to ``attempts``.
    public subscript(measure: StopMeasure) -> Int { counts[measure.index] }

    mutating func add(_ attempt: FirstAttempt) { change(attempt, by: 1) }

    /// The attempt must have been added before.
    mutating func remove(_ attempt: FirstAttempt) { change(attempt, by: -1) }

    private mutating func change(_ attempt: FirstAttempt, by amount: Int) {
        attempts += amount
        for measure in StopMeasure.allCases where measure.counts(attempt) { counts[measure.index] += amount }
    }
}
