internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// A job as this worker runs it: its spec and the request prepared from it once.
final class JobContext {
    let id: String
    let spec: JobSpec
    let results: ResultsPolicy
    /// How its recipients travel, or why they cannot: a job that was accepted for another transport.
    let adapter: Result<ProtocolAdapter, TranslationError>
    /// Ends every recipient not yet sent; set when the fan-out's first answers say that the message is wrong.
    var abort: Failure?
    /// What every recipient gets that has no result yet, because the job ends before its time; nil while it goes on.
    var ending: ResultStatus?
    /// Counts sends to each recipient of a fan-out so large that one of them could be sent to too often.
    private var sketch: CountMinSketch?
    /// How many batches of it this worker holds; the context goes with the last.
    var batches = 0

    /// - Parameter adapter: the one that intake made of the same job; nil makes one.
    init(id: String, spec: JobSpec, project: WorkerConfiguration.Project, adapter: ProtocolAdapter? = nil) {
        self.id = id
        self.spec = spec
        if spec.total > 240 * Batch.maximumSize { sketch = CountMinSketch() }
        results = spec.results.resolved(total: spec.total)
        if let adapter {
            self.adapter = .success(adapter)
        } else {
            do throws(TranslationError) {
                self.adapter = .success(try ProtocolAdapter(spec, job: id, project: project))
            } catch {
                self.adapter = .failure(error)
            }
        }
    }

    /// A fan-out takes turns with the project's others; see <doc:LifeCycle>.
    var isFanout: Bool {
        !isManagement && (spec.total > Batch.maximumSize || spec.kind == .topic || spec.kind == .condition)
    }

    /// It carries no message: a subscription, or an operation on a group.
    var isManagement: Bool { spec.operation != .send }

    /// Done twice it is not done once: a device shows a message twice, a group that was made cannot be made again. What
    /// is known of such a recipient has to say that an attempt of it may have been carried out.
    var remembersDoubt: Bool {
        switch spec.operation {
        case .send, .groupCreate, .groupRemove: return true
        case .subscribe, .unsubscribe, .groupAdd, .groupGet: return false
        }
    }

    /// Whether an attempt that ended so may have been carried out all the same.
    func isDoubtful(_ retry: Retry) -> Bool {
        guard isManagement else { return retry.isAmbiguous }
        guard remembersDoubt else { return false }
        let status = retry.failure.httpStatus
        // With Retry-After it was turned away at the door.
        let wasTurnedAway = status == 503 && retry.retryAfterMs != nil
        return retry.cause == .unanswered || ((500...599).contains(status) && !wasTurnedAway)
    }

    /// Several recipients travel in one request.
    var sharesRequests: Bool {
        guard case .success(let adapter) = adapter else { return false }
        return adapter.most(spec.kind) > 1
    }

    /// Whether the job subscribes tokens to a topic, so that its successes are counted.
    var isSubscribing: Bool { spec.operation == .subscribe }

    /// Whether FCM answers the job's requests over HTTP.
    var answersOverHTTP: Bool {
        guard case .success(let adapter) = adapter else { return true }
        return adapter.route != .xmpp
    }

    /// The message's own lifetime allows no second attempt.
    func isOneAttempt(firstAttemptMs: Int64) -> Bool {
        guard case .success(let adapter) = adapter else { return false }
        return adapter.lifetimeMs(firstAttemptMs: firstAttemptMs) == 0
    }

    /// How often this worker has been about to send to the recipient in the last minute; 0 for jobs too small to tell.
    func repeats(hash: UInt64, now: UInt64) -> Int { sketch?.count(hash: hash, now: now) ?? 0 }

    /// As ``repeats(hash:now:)`` of each, in their order; empty for jobs too small to tell.
    func repeats(hashes: [UInt64], now: UInt64) -> [Int] { sketch?.count(hashes: hashes, now: now) ?? [] }

    var countsRepeats: Bool { sketch != nil }

    var isAtMostOnce: Bool { spec.delivery == .atMostOnce }
}
