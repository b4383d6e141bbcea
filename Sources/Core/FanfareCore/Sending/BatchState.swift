public import FanfareModel

/// The state of a batch that this worker holds.
///
/// ```
///  claimed ─► preparing ─► sending · ending · released
///             sending ───► stopping · ending · closed
///             stopping ──► ending · closed · released
///             ending ────► closed
///  any of these four ────► lost ─► closed
/// ```
///
/// Identity is job, batch and epoch: after a resume, a worker may hold the same batch twice.
public enum BatchState: Equatable, Sendable {
    /// The job's spec is being loaded, or the batch waits in quarantine; nothing of it was sent. `ending` is the status of
    /// a job that ended meanwhile. Next: sending, ending, released, lost.
    case preparing(ending: ResultStatus?)
    /// Its recipients are sent as the gate allows. Next: stopping, ending, closed, lost.
    case sending
    /// The job was paused or parked, or the worker drains: nothing more is sent, and unsent recipients have been given
    /// back. Next: ending, closed, released, lost.
    case stopping
    /// The job ends: each unsent recipient gets this status. Next: closed, lost.
    case ending(ResultStatus)
    /// The batch is not this worker's any more: answers to requests in flight are written as late facts. Next: closed.
    case lost(Loss)
    /// Redis has confirmed the flush that closed the batch. The last state.
    case closed
    /// The batch was given back with recipients that others will send. The last state.
    case released

    /// Why a batch is lost.
    public enum Loss: Equatable, Sendable {
        /// Another worker owns the batch, or its job is over.
        case taken
        /// Redis came back with an older state, in which this worker does not hold the batch.
        case forgotten
        /// This worker was declared dead.
        case leaseLost
    }

    /// An event in the life of a batch.
    public enum Event: Equatable, Sendable {
        /// The job's spec is loaded and no quarantine holds the batch.
        case prepared
        /// Its job was paused or parked, or this worker gives up what it has not sent.
        case stop
        case end(ResultStatus)
        case lose(Loss)
        /// Redis confirmed the closing flush.
        case close
        /// A stopped batch is quiet and was given back.
        case release
    }

    /// The state after an event. An event that the machine itself cannot produce in this state traps.
    public func after(_ event: Event) -> BatchState {
        switch (self, event) {
        case (.preparing(let ending?), .prepared): .ending(ending)
        case (.preparing(nil), .prepared): .sending
        case (.preparing, .stop): .released
        case (.preparing, .end(let status)): .preparing(ending: status)
        case (.sending, .stop): .stopping
        // A job that ends needs nothing to be given back: every recipient gets its status here.
        case (.ending, .stop): self
        case (.sending, .end(let status)), (.stopping, .end(let status)), (.ending, .end(let status)): .ending(status)
        case (.stopping, .stop), (.stopping, .release): event == .release ? .released : self
        case (.preparing, .lose(let loss)), (.sending, .lose(let loss)), (.stopping, .lose(let loss)),
            (.ending, .lose(let loss)):
            .lost(loss)
        // The closing flush may be confirmed after the batch was taken for lost.
        case (.sending, .close), (.stopping, .close), (.ending, .close), (.lost, .close): .closed
        case (.lost, .stop), (.lost, .end), (.lost, .lose): self
        case (.closed, .stop), (.closed, .end), (.closed, .lose): self
        case (.released, .stop), (.released, .end), (.released, .lose): self
        case (.preparing, .close), (.preparing, .release): preconditionFailure("nothing of the batch was sent")
        case (.sending, .prepared), (.stopping, .prepared), (.ending, .prepared), (.lost, .prepared),
            (.closed, .prepared), (.released, .prepared):
            preconditionFailure("a batch is prepared once")
        case (.sending, .release), (.ending, .release), (.lost, .release), (.closed, .release), (.released, .release):
            preconditionFailure("only a stopping batch is released")
        case (.closed, .close), (.released, .close): preconditionFailure("a batch closes once")
        }
    }

    /// Whether another worker may own the batch: this one writes facts only.
    public var isLost: Bool { if case .lost = self { true } else { false } }
    /// Whether the job ends, and the unsent recipients get its status.
    public var isEnding: Bool { if case .ending = self { true } else { false } }

    /// Whether no send of the batch begins any more.
    public var isOver: Bool {
        switch self {
        case .lost, .closed, .released: true
        case .preparing, .sending, .stopping, .ending: false
        }
    }

    public var isPreparing: Bool { if case .preparing = self { true } else { false } }

    /// The status of every recipient without a result; nil while the job continues.
    public var endingStatus: ResultStatus? {
        switch self {
        case .ending(let status), .preparing(let status?): status
        case .preparing(nil), .sending, .stopping, .lost, .closed, .released: nil
        }
    }
}
