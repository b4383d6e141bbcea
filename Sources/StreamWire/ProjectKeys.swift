/// The keys of one project. All share the hash tag `{project}`, so they live in one slot of a cluster.
public struct ProjectKeys: Equatable, Sendable {
    public let project: String
    /// `fanfare:{project}:`, the one key that every function of the library takes.
    public let base: String

    public init(prefix: String = "fanfare", project: String) {
        self.project = project
        base = "\(prefix):{\(project)}:"
    }

    public var jobs: String { base + "jobs" }
    public var results: String { base + "results" }
    public var feedback: String { base + "feedback" }
    public var dead: String { base + "dead" }
    public var upstream: String { base + "upstream" }
    public func job(_ id: String) -> String { base + "job:" + id }

    /// The set of project ids seen; the one key outside the project's slot.
    public static func projects(prefix: String = "fanfare") -> String { prefix + ":projects" }

    /// The name of the workers' consumer group on ``jobs``.
    public static let group = "fanfare"

    /// Where a job stands in its queue: higher priority first, then the order of stream ids. Fixed widths, because
    /// the queue is ordered by bytes.
    public static func queueMember(priority: Int, entryID: String, jobID: String) -> String {
        let parts = entryID.split(separator: "-", maxSplits: 1)
        func padded(_ text: Substring?, _ width: Int) -> String {
            let text = text ?? "0"
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return "\(9 - min(9, max(0, priority)))\(padded(parts.first, 20))-"
            + "\(padded(parts.count > 1 ? parts[1] : nil, 20))/\(jobID)"
    }
}
