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
    /// The index of ``results`` by token, in blocks.
    package var fingerprints: String { base + "fingerprints" }
    /// Jobs that gateways pushed and that may wait in ``jobs``: a sorted set of their ids by the milliseconds of their entries.
    package var pushed: String { base + "gateway:pushed" }
    public func job(_ id: String) -> String { base + "job:" + id }

    /// The set of project ids seen; the one key outside the project's slot.
    public static func projects(prefix: String = "fanfare") -> String { prefix + ":projects" }

    /// The name of the workers' consumer group on ``jobs``.
    public static let group = "fanfare"

    /// A job's name in its queue, which is ordered by bytes: higher priority first, then the order of stream ids.
    public static func queueMember(priority: Int, entryID: String, jobID: String) -> String {
        var bytes: [UInt8] = []
        appendQueueMember(priority: priority, entryID: entryID, jobID: jobID, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the text of ``queueMember(priority:entryID:jobID:)``.
    static func appendQueueMember(priority: Int, entryID: String, jobID: String, to bytes: inout [UInt8]) {
        let id = entryID.utf8
        let dash = id.firstIndex(of: UInt8(ascii: "-")) ?? id.endIndex
        bytes.append(UInt8(ascii: "9") - UInt8(min(9, max(0, priority))))
        appendPadded(id[..<dash], to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        appendPadded(id[dash...].dropFirst(), to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(contentsOf: jobID.utf8)
    }

    /// As wide as the largest number of 64 bits.
    private static func appendPadded(_ digits: Substring.UTF8View, to bytes: inout [UInt8]) {
        for _ in 0..<max(0, 20 - digits.count) { bytes.append(UInt8(ascii: "0")) }
        bytes.append(contentsOf: digits)
    }
}
