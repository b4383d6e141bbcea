internal import FanfareModel
internal import StreamWire

/// Request of the library's `claim`, reduced to the arguments that the model uses.
struct ClaimRequest {
    var lease: Int
    /// Grows with each connection of the worker.
    var connection: Int
    var most: Int
    var wanted: Int
    var wantedSingle: Int
    var window: Int
    var retryRoom: Int
    var returned: Int
    var single: Int
    var fanout: Int
    var cursor: NewsID
    var report: AnswerReport?
    var quarantine: ClaimCall.Quarantine?
    var endings: Int?
}

struct NewsID: Comparable {
    var ms: Int64 = 0
    var sequence: Int = 0

    static func < (left: NewsID, right: NewsID) -> Bool {
        left.ms != right.ms ? left.ms < right.ms : left.sequence < right.sequence
    }
}

struct News {
    enum Kind {
        /// Workers release the job's batches that were claimed up to this epoch.
        case stop(epoch: UInt64)
        case end(Letter)
    }
    var id: NewsID
    var kind: Kind
    var job: Int
}

enum Fate: Equatable { case unsent, maybeSent, finished }

/// A batch given to a worker.
struct Given {
    var name: BatchName
    var epoch: UInt64
    var watermark: Int
    var deliveries: Int
    var ending: Letter
    var isQuarantined: Bool
    /// Of a quarantined batch.
    var crashes = 0
    var indexes: [Int]
    var fates: [Fate]
    var histories: [History]
}

struct ClaimReply {
    var nowMs: Int64
    var holdMs: Int64
    var nextDueMs: Int64
    var permits: Int
    var isPaused: Bool
    var suspect: QuarantineMode?
    /// The number of entries and jobs that have not ended.
    var unfinished: Int
    var cursor: NewsID
    var news: [News]
    var claims: [Given]
}

struct RecordRequest {
    struct Result {
        var index: Int
        var letter: Letter
        var isDuplicate: Bool
    }
    struct Retry {
        var index: Int
        var dueMs: Int64
        var history: History
    }

    var name: BatchName
    var epoch: UInt64
    var lease: Int
    var number = 0
    var watermark: Int?
    var isFinish = false
    var isLate = false
    var isSent = false
    var holdMs: Int64 = 0
    var results: [Result] = []
    var retries: [Retry] = []
    /// First attempts that the flush reports; true for a failed one.
    var firstAttempts: [Bool] = []
}

/// Request of a worker on a new connection: compares the batches that it holds with Redis' state.
struct ReconcileRequest {
    struct Known {
        var name: BatchName
        /// Number of the last call that Redis confirmed; 0 for none.
        var call: Int
        /// Sends below this position may have begun.
        var watermark: Int
    }

    var lease: Int
    var connection: Int
    /// Whether Redis is the same server as on the previous connection, so that it lost no state.
    var isSameServer: Bool
    var known: [Known]
}
