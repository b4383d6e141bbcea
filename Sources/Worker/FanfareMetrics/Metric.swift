/// One metric as it is exposed: what it is called, what it counts, and which labels tell its series apart.
public struct Metric: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// Only grows, from 0 at the process's start.
        case counter
        case gauge
        /// Upper bounds of the buckets, rising; the one without a bound is added.
        case histogram([Double])

        /// As the exposition format calls it.
        public var name: String {
            switch self {
            case .counter: return "counter"
            case .gauge: return "gauge"
            case .histogram: return "histogram"
            }
        }
    }

    /// Whose value it is, which decides how several workers' series are put together.
    public enum Scope: Equatable, Sendable {
        /// Of the process that exposes it: sum over the workers.
        case process
        /// Read from Redis, and the same at every worker: take the maximum, never the sum.
        case fleet
    }

    public struct Label: Equatable, Sendable {
        public let name: String
        /// The values that it can have; empty where the configuration decides.
        public let values: [String]

        public init(_ name: String, _ values: [String] = []) {
            self.name = name
            self.values = values
        }
    }

    public let name: String
    public let kind: Kind
    public let scope: Scope
    public let labels: [Label]
    /// One or two sentences, in plain text without a line feed.
    public let help: String

    public init(_ name: String, _ kind: Kind, _ scope: Scope = .process, _ labels: [Label] = [], help: String) {
        self.name = name
        self.kind = kind
        self.scope = scope
        self.labels = labels
        self.help = help
    }
}
