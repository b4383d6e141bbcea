/// What a project did over a span of time: one sample a step, oldest first, and the events that explain them.
public struct ProjectHistory: Equatable, Sendable {
    /// Oldest first, one for each step of the span. A step in which no worker recorded anything is empty.
    public var samples: [HistorySample]
    /// Oldest first.
    public var marks: [HistoryMark]
    /// The length of a sample: 10,000 for spans of up to an hour, else 300,000.
    public var stepMs: Int64
    /// The time of Redis' clock when the history was read, Unix milliseconds.
    public var nowMs: Int64

    public init(samples: [HistorySample] = [], marks: [HistoryMark] = [], stepMs: Int64, nowMs: Int64) {
        self.samples = samples
        self.marks = marks
        self.stepMs = stepMs
        self.nowMs = nowMs
    }
}

/// The counts of all workers in one step of a ``ProjectHistory``.
public struct HistorySample: Equatable, Sendable {
    /// The start of the step, Unix milliseconds.
    public var atMs: Int64
    /// Results accepted by FCM; not known to be delivered.
    public var sent: Int64 = 0
    public var failed: Int64 = 0
    public var unknown: Int64 = 0
    /// Attempts that were put back for a retry.
    public var retries: Int64 = 0
    /// Results flagged as possible duplicates.
    public var maybeDup: Int64 = 0
    /// Failed results by error code.
    public var errors: [String: Int64] = [:]
    /// Latencies of requests to FCM.
    public var latency = LatencyHistogram()
    /// Recipients and pushed jobs that waited at the end of the step.
    public var waiting: Int64 = 0
    public var quotaPerMinute: Int64 = 0

    public init(atMs: Int64) { self.atMs = atMs }

    public var results: Int64 { sent + failed + unknown }
}

/// An event of a project that explains a change in its samples.
public struct HistoryMark: Equatable, Sendable {
    /// An open set: later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// FCM asked to wait.
        public static let hold = Kind(rawValue: "hold")
        /// An operator paused the project.
        public static let pause = Kind(rawValue: "pause")
        /// An operator resumed the project, or its block ended.
        public static let resume = Kind(rawValue: "resume")
        /// FCM refused the project.
        public static let block = Kind(rawValue: "block")
        /// Workers of another version started.
        public static let version = Kind(rawValue: "version")
        /// A worker started.
        public static let worker = Kind(rawValue: "worker")
        /// A worker was declared dead.
        public static let lost = Kind(rawValue: "lost")
        /// A worker has batches of a lost one.
        public static let takeover = Kind(rawValue: "takeover")
    }

    /// Unix milliseconds.
    public var atMs: Int64
    public var kind: Kind
    /// The reason of a pause or block, the length of a hold, the version, or the workers' names.
    public var text: String

    public init(atMs: Int64, kind: Kind, text: String) {
        self.atMs = atMs
        self.kind = kind
        self.text = text
    }
}
