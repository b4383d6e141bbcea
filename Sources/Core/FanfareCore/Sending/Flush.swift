public import StreamWire

/// One call of `record`, kept by the driver until Redis has answered it.
public final class Flush: Sendable {
    /// The batch's slot; nil when the batch is over and nothing of it waits for the answer.
    let slot: Int?
    public let source: BatchSource
    public let call: RecordCall

    init(slot: Int?, source: BatchSource, call: RecordCall) {
        self.slot = slot
        self.source = source
        self.call = call
    }

    /// What counts as uncommitted until Redis has answered.
    var uncommitted: Int { call.uncommitted }
}

extension Flush: Equatable {
    public static func == (one: Flush, other: Flush) -> Bool {
        one.slot == other.slot && one.source == other.source && one.call == other.call
    }
}

extension RecordCall {
    /// Results of attempts, and retries: what a crash would lose. Recipients that were never sent simply end again.
    var uncommitted: Int { results.count - untried + retries.count }
}

/// The batch that results belong to, for as long as they may be written.
public struct BatchSource: Hashable, Sendable {
    public let job: String
    public let batch: String
    public let epoch: String
    /// Late results of operations are not flagged as possible duplicates: no device shows an operation twice.
    public let isManagement: Bool
}
