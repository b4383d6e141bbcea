enum JobClass: Sendable {
    case single, group, fanout, aimed

    /// FCM counts it among the fan-outs that share its capacity.
    var takesTurns: Bool { self == .fanout || self == .aimed }
}

/// The last word on a recipient.
enum Letter: UInt8, Sendable { case none, sent, failed, unknown, cancelled, expired }

/// What is known of a recipient from earlier attempts.
struct History: Equatable, Sendable {
    var attempts = 0
    var firstMs: Int64 = 0
    var isMaybeDuplicate = false
}

/// A batch's name: first-pass batches are numbered, retry batches named after their epoch.
struct BatchName: Hashable, Comparable, Sendable {
    var job: Int
    var part: Int
    var isRetry: Bool

    static func < (left: BatchName, right: BatchName) -> Bool {
        if left.job != right.job { return left.job < right.job }
        if left.isRetry != right.isRetry { return !left.isRetry }
        return left.part < right.part
    }
}

/// A job as Redis holds it: spec, counters, done bitmap, waiting recipients.
struct JobRecord {
    let number: Int
    let kind: JobClass
    let total: Int
    let turn: FanoutSlot.Turn
    let isAtMostOnce: Bool
    let notBeforeMs: Int64
    let expiresAtMs: Int64
    /// How long FCM is busy with it, of a topic or condition.
    let holdMs: Int64

    /// Handed over: the spec exists.
    var isOpen = false
    var isOver = false
    var next = 0
    var passed = 0
    var left = 0
    /// Of a topic or condition: it has to be sent again, and waits for its turn.
    var again = false
    var isPaused = false
    var isParked = false
    var ending: Letter = .none
    /// True time of the step that stopped it (a pause, an end, a park); nil while it runs. For the referee only.
    var stoppedAt: Int?

    var done: [Letter]
    var isDuplicate: [Bool]
    /// Results written to the stream, by recipient.
    var written: [UInt8]
    /// Results, by recipient, whose call failed between the entry and the mark: the repeated call writes them again.
    var unmarked: [UInt8]
    var counters = [Int](repeating: 0, count: 6)
    var waiting: [History?]
    /// How often in a row a waiting recipient was in the hands of a worker that died.
    var crashed: [Int: Int] = [:]
    var held: [Due] = []
    var orphans: [BatchName] = []

    init(
        number: Int,
        kind: JobClass,
        total: Int,
        turn: FanoutSlot.Turn,
        isAtMostOnce: Bool = false,
        notBeforeMs: Int64 = 0,
        expiresAtMs: Int64 = 0,
        holdMs: Int64 = 0
    ) {
        self.number = number
        self.kind = kind
        self.total = total
        self.turn = turn
        self.isAtMostOnce = isAtMostOnce
        self.notBeforeMs = notBeforeMs
        self.expiresAtMs = expiresAtMs
        self.holdMs = holdMs
        left = total
        done = Array(repeating: .none, count: total)
        isDuplicate = Array(repeating: false, count: total)
        written = Array(repeating: 0, count: total)
        unmarked = written
        waiting = Array(repeating: nil, count: total)
    }
}

/// A recipient that waits for its time.
struct Due: Comparable {
    var ms: Int64
    var job: Int
    var index: Int

    static func < (left: Due, right: Due) -> Bool {
        if left.ms != right.ms { return left.ms < right.ms }
        if left.job != right.job { return left.job < right.job }
        return left.index < right.index
    }
}

/// A claimed batch.
struct BatchRecord {
    var owner: Int
    var epoch: UInt64
    /// Sends below this position may have begun.
    var upto: Int
    var deliveries = 1
    var isSent = false
    var call = 0
    /// Recipients by position.
    var indexes: [Int]
    /// Handed on to a retry, by position.
    var handedOn: [Bool]
    var tally = CrashTally()
}
