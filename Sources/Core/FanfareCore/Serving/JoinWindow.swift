public import FanfareModel

/// What requests must have in common to become one job.
public struct JoinKey: Hashable, Sendable {
    /// The name of the gateway's key.
    public var key: String
    public var project: String
    public var kind: RecipientKind
    /// The job's message, without its target.
    public var message: [UInt8]
    public var format: MessageFormat
    public var validateOnly: Bool
    public var priority: Int?
    public var delivery: DeliveryMode?
    /// Unix milliseconds.
    public var expiresAt: Int64?
    /// The trace of the request. Keys with different traces are equal: a joined job has the trace of its first request.
    public var trace: TraceHeaders?

    public init(key: String, project: String, kind: RecipientKind, message: [UInt8], format: MessageFormat = .v1) {
        (self.key, self.project, self.kind, self.message, self.format) = (key, project, kind, message, format)
        validateOnly = false
    }

    public static func == (one: JoinKey, other: JoinKey) -> Bool {
        (one.key, one.project, one.kind, one.message) == (other.key, other.project, other.kind, other.message)
            && (one.format, one.validateOnly) == (other.format, other.validateOnly)
            && (one.priority, one.delivery, one.expiresAt) == (other.priority, other.delivery, other.expiresAt)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(project)
        hasher.combine(message)
    }
}

/// Joins requests that arrive together into jobs of at most 1,000 recipients.
///
/// A window opens with the first request of a key and closes after 5 ms, when it is full, or before a recipient that it
/// has already: a job has each recipient once.
public struct JoinWindow: Sendable {
    /// The number of a request.
    public typealias Request = UInt64

    /// A job that is to be pushed now.
    public struct Job: Equatable, Sendable {
        public var key: JoinKey
        public var recipients: [String]
        /// The requests, with the positions of their recipients.
        public var requests: [(request: Request, indices: Range<Int64>)]

        public init(key: JoinKey, recipients: [String], requests: [(request: Request, indices: Range<Int64>)]) {
            (self.key, self.recipients, self.requests) = (key, recipients, requests)
        }

        public static func == (one: Job, other: Job) -> Bool {
            one.key == other.key && one.recipients == other.recipients
                && one.requests.elementsEqual(other.requests) { $0.request == $1.request && $0.indices == $1.indices }
        }

        /// The job without some requests and their recipients.
        public func without(_ removed: Set<Request>) -> Job {
            var rest = Job(key: key, recipients: [], requests: [])
            for (request, indices) in requests where !removed.contains(request) {
                let first = Int64(rest.recipients.count)
                rest.recipients += recipients[Int(indices.lowerBound)..<Int(indices.upperBound)]
                rest.requests.append((request, first..<first + Int64(indices.count)))
            }
            return rest
        }
    }

    static var maximumRecipients: Int { 1_000 }
    static var spanNs: UInt64 { 5_000_000 }

    private struct Window {
        var job: Job
        var known: Set<String>
        var closesNs: UInt64
    }

    private var windows: [JoinKey: Window] = [:]

    public init() {}

    /// When the next window closes; nil while none is open.
    public var nextNs: UInt64? { windows.values.lazy.map(\.closesNs).min() }

    /// Adds a request with its recipients, of which it has at most ``maximumRecipients`` and none twice.
    ///
    /// - Returns: the jobs that are to be pushed before anything else of the key.
    public mutating func add(_ request: Request, _ recipients: [String], to key: JoinKey, nowNs: UInt64) -> [Job] {
        var closed: [Job] = []
        if let window = windows[key],
            window.job.recipients.count + recipients.count > Self.maximumRecipients
                || recipients.contains(where: window.known.contains)
        {
            closed.append(window.job)
            windows[key] = nil
        }
        var window =
            windows.removeValue(forKey: key)
            ?? Window(job: Job(key: key, recipients: [], requests: []), known: [], closesNs: nowNs + Self.spanNs)
        let first = Int64(window.job.recipients.count)
        window.job.requests.append((request, first..<first + Int64(recipients.count)))
        window.job.recipients += recipients
        window.known.formUnion(recipients)
        if window.job.recipients.count >= Self.maximumRecipients {
            closed.append(window.job)
        } else {
            windows[key] = window
        }
        return closed
    }

    /// Closes the windows whose time is over, and returns their jobs.
    public mutating func close(nowNs: UInt64) -> [Job] {
        let due = windows.filter { $0.value.closesNs <= nowNs }.sorted { $0.value.closesNs < $1.value.closesNs }
        for (key, _) in due { windows[key] = nil }
        return due.map(\.value.job)
    }

    /// Removes a request whose client left before its window closed: nothing is sent for it.
    ///
    /// - Returns: false if it is in no window.
    public mutating func remove(_ request: Request) -> Bool {
        for (key, window) in windows {
            guard window.job.requests.contains(where: { $0.request == request }) else { continue }
            let job = window.job.without([request])
            windows[key] =
                job.requests.isEmpty
                ? nil : Window(job: job, known: Set(job.recipients), closesNs: window.closesNs)
            return true
        }
        return false
    }
}
