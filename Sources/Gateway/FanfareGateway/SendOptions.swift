internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel

/// What the headers of a request set for its job.
struct SendOptions: Sendable {
    var priority: Int?
    var delivery: DeliveryMode?
    /// Unix milliseconds.
    var expiresAt: Int64?
    /// The id of the job; it has the rules of every job's id.
    var idempotencyKey: String?
    var waitMs: Int64
    let trace: TraceHeaders?

    private static let longestWaitMs: Int64 = 60_000

    /// - Parameters:
    ///   - maximumPriority: of the request's key.
    ///   - waitMs: how long a request waits unless it says otherwise.
    init(_ headers: [String: String], maximumPriority: Int, waitMs: Int64) throws(V1Fault) {
        self.waitMs = waitMs
        trace = TraceHeaders(headers)
        if let text = headers["x-fanfare-wait"] {
            guard let wait = Int64(text), wait >= 0 else {
                throw V1Fault(shape: "X-Fanfare-Wait", "must be milliseconds, 0 to \(Self.longestWaitMs)")
            }
            self.waitMs = min(wait, Self.longestWaitMs)
        }
        if let text = headers["x-fanfare-priority"] {
            guard let priority = Int(text), (0...9).contains(priority) else {
                throw V1Fault(shape: "X-Fanfare-Priority", "must be 0 to 9")
            }
            self.priority = min(priority, maximumPriority)
        } else if maximumPriority < Job.usualPriority {
            priority = maximumPriority
        }
        if let text = headers["x-fanfare-delivery"] {
            guard let mode = DeliveryMode(rawValue: text) else {
                let modes = DeliveryMode.allCases.map(\.rawValue).joined(separator: ", ")
                throw V1Fault(shape: "X-Fanfare-Delivery", "must be one of \(modes)")
            }
            delivery = mode
        }
        if let text = headers["x-fanfare-expires-at"] {
            if let fault = Job.timeFault(text) { throw V1Fault(shape: "X-Fanfare-Expires-At", fault) }
            expiresAt = Int64(text)
        }
        if let text = headers["idempotency-key"] { idempotencyKey = IdempotencyKey.id(text) }
    }
}
