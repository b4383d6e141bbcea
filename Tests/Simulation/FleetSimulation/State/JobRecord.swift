internal import FanfareModel
internal import StreamWire

enum JobClass: Sendable {
    case single, group, fanout, broadcast

    /// Whether FCM counts the job among the fan-outs that share its capacity.
    var takesTurns: Bool { self == .fanout || self == .broadcast }
}

/// The name of a batch: the number of a first-pass batch, the epoch of a retry batch.
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

/// A job in Redis: spec, counters, done bitmap, waiting recipients.
struct JobRecord {
    let number: Int
    let kind: JobClass
    let total: Int
    let turn: FanoutSlot.Turn
    let isAtMostOnce: Bool
    let notBeforeMs: Int64
    let expiresAtMs: Int64
    /// How long FCM fans out a send to a topic or condition.
    let holdMs: Int64

    /// Nil for a job without guards.
    var guards: GuardRecord?
    /// Whether its guards took it out of the queue.
    var isDeferred = false

    /// Whether the job was taken in, so that its spec exists.
    var isOpen = false
    var isOver = false
    var next = 0
    var passed = 0
    var left = 0
    /// Whether a topic or condition must be sent to again and waits for its turn.
    var again = false
    var isPaused = false
    var isParked = false
    var ending: ResultStatus?
    /// True time at which the job was paused, ended or parked; nil while it runs. Only for the referee.
    var stoppedAt: Int?

    /// The result of each recipient; nil before it.
    var done: [ResultStatus?]
    var isDuplicate: [Bool]
    /// Number of results written to the stream, by recipient.
    var written: [UInt8]
    /// Number of results, by recipient, whose call failed after the entry. The repeated call writes them again.
    var unmarked: [UInt8]
    var counters: [ResultStatus: Int] = [:]
    var waiting: [RecipientHistory?]
    /// Consecutive crashes of workers that held a waiting recipient, by recipient.
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
        done = Array(repeating: nil, count: total)
        isDuplicate = Array(repeating: false, count: total)
        written = Array(repeating: 0, count: total)
        unmarked = written
        waiting = Array(repeating: nil, count: total)
    }
}

/// A recipient that waits until a due time.
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
    var watermark: Int
    var deliveries = 1
    var isSent = false
    var call = 0
    /// Recipients by position.
    var indexes: [Int]
    /// Whether a recipient became a retry, by position.
    var handedOn: [Bool]
    var tally = CrashTally()
    /// When its watermark was granted, in true time, and how far. Only for the referee.
    var grants: [(below: Int, at: Int)] = []
}
