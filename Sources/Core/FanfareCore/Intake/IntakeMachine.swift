public import StreamWire

/// Decides what happens to each entry of a job stream, from its delivery to the step in Redis that takes it out.
///
/// ```
/// received ─► waiting ─► handing over ─► out of the stream: a batch of this worker, a waiting or closed job, a duplicate
///                │          │    └─► rejecting ─► out of the stream, and in `dead`
///                └──────────┴───────────┴─► left over: still pending, and read again
/// ```
///
/// Times are nanoseconds on a clock that is never set.
public struct IntakeMachine<Entry: IntakeEntry> {
    public enum Event {
        case received([Entry])
        /// - Parameters:
        ///   - reply: nil for an answer that cannot be read: another version of the library may have written it.
        ///   - isOurs: the job was handed over under the name that is still this worker's.
        case answered(Entry, reply: IntakeReply?, isOurs: Bool)
        /// - Parameter isNew: this call took the entry out of the stream.
        case rejected(Entry, isNew: Bool)
        /// Redis did not do it: the entry stays pending.
        case failed(Entry)
        /// The job that has the entry's id is about to end: the entry stays pending, and others continue.
        case postponed(Entry)
        /// Entries of dead consumers were given to this one.
        case leftoversFound
        case leftoversReread
    }

    public enum Action {
        /// Check the entry and hand it over, or reject it.
        case check(Entry)
        case reject(Entry, reason: String)
        case creditPermits(Int, Entry)
        /// This worker holds the job's batch. `held`: of a compact job.
        case activate(Entry, epoch: String, held: String? = nil)
        /// A job waits for a worker.
        case claim(Entry)
        case count(IntakeOutcome)
        case reportUnreadable
        /// There may be room to read.
        case read
    }

    private var buffer = IntakeBuffer<Entry>()

    public init() {}

    /// No entry waits or is in flight.
    public var isIdle: Bool { buffer.count == 0 }

    /// Whether entries that Redis delivered have to be read again.
    public var hasLeftovers: Bool { buffer.hasLeftovers }

    public func demand(now: UInt64) -> ReadPlan.Demand {
        ReadPlan.Demand(
            room: buffer.room(now: now),
            isFull: buffer.isFull(now: now),
            leftovers: buffer.leftovers(now: now)
        )
    }

    public mutating func handle(_ event: Event, now: UInt64, into actions: inout [Action]) {
        switch event {
        case .received(let entries):
            for entry in entries { buffer.append(entry) }
            begin(&actions)
        case .answered(let entry, .reject(let reason), _): actions.append(.reject(entry, reason: reason))
        case .answered(let entry, let reply, let isOurs):
            apply(reply, isOurs: isOurs, to: entry, &actions)
            finish(entry, &actions)
        case .rejected(let entry, let isNew):
            if isNew { actions.append(.count(.rejected)) }
            finish(entry, &actions)
        case .failed(let entry):
            buffer.fail(entry, now: now)
            actions.append(.read)
        case .postponed(let entry):
            buffer.postpone(entry, now: now)
            begin(&actions)
            actions.append(.read)
        case .leftoversFound: buffer.addLeftovers(now: now)
        case .leftoversReread: buffer.rereadLeftovers()
        }
    }

    private func apply(_ reply: IntakeReply?, isOurs: Bool, to entry: Entry, _ actions: inout [Action]) {
        switch reply {
        case .taken(let epoch, let permits, let held):
            actions.append(.count(.accepted))
            actions.append(.creditPermits(permits, entry))
            // Given to a name that was declared dead meanwhile, the batch is for others.
            if isOurs { actions.append(.activate(entry, epoch: epoch, held: held)) }
        case .queued:
            actions.append(.count(.accepted))
            actions.append(.claim(entry))
        case .done: actions.append(.count(.accepted))
        case .duplicate: actions.append(.count(.duplicate))
        case nil: actions.append(.reportUnreadable)
        case .gone, .reject: break
        }
    }

    private mutating func finish(_ entry: Entry, _ actions: inout [Action]) {
        buffer.finish(entry)
        begin(&actions)
        actions.append(.read)
    }

    private mutating func begin(_ actions: inout [Action]) {
        while let entry = buffer.next() { actions.append(.check(entry)) }
    }
}

/// How a job left its stream, as metrics name it.
public enum IntakeOutcome: String, CaseIterable, Sendable { case accepted, duplicate, rejected }
