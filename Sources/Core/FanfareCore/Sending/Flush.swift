public import StreamWire

/// One call of `record`, kept by the driver until Redis has answered it.
public struct Flush: Equatable, Sendable {
    /// The batch's slot; nil when the batch is over and nothing of it waits for the answer.
    let slot: Int?
    public let source: BatchSource
    public internal(set) var call: RecordCall

    /// What counts as uncommitted until Redis has answered.
    var uncommitted: Int { call.uncommitted }
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
