/// A metric as it is exposed: its name, kind, scope, labels and help text.
public struct Metric: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// Only grows, from 0 at the start of the process.
        case counter
        case gauge
        /// Upper bounds of the buckets, ascending, without `+Inf`.
        case histogram([Double])

        /// The name in the exposition format.
        public var name: String {
            switch self {
            case .counter: return "counter"
            case .gauge: return "gauge"
            case .histogram: return "histogram"
            }
        }
    }

    /// How to aggregate the series of several workers.
    public enum Scope: Equatable, Sendable {
        /// A value of the exposing process: sum over the workers.
        case process
        /// A value read from Redis, equal at every worker: take the maximum, never the sum.
        case fleet
    }

    public struct Label: Equatable, Sendable {
        public let name: String
        /// The possible values; empty if the configuration decides.
        public let values: [String]

        init(_ name: String, _ values: [String] = []) {
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
}
