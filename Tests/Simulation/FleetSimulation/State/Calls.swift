internal import FanfareModel
internal import StreamWire

extension ClaimCall {
    var lease: Int { Int(worker) ?? 0 }
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
        case end(ResultStatus)
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
    var ending: ResultStatus?
    var isQuarantined: Bool
    /// Of a quarantined batch.
    var crashes = 0
    var indexes: [Int]
    var fates: [Fate]
    var histories: [RecipientHistory]
}

struct ClaimAnswer {
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

/// The library's `record`, with its names as the model has them.
struct RecordRequest {
    let name: BatchName
    let epoch: UInt64
    let lease: Int
    var call: RecordCall

    /// Returns nil if the batch's name is not one of the model.
    init?(_ call: RecordCall, lease: Int) {
        guard let name = BatchName(job: call.job, batch: call.batch), let epoch = UInt64(call.epoch) else { return nil }
        (self.name, self.epoch, self.lease, self.call) = (name, epoch, lease, call)
    }
}
