/// Joins what this process learns of lost workers, project by project, so that the log has one line for each of them.
public struct LostWorkers: Equatable, Sendable {
    /// A lost worker, and what this process freed of it.
    public struct Loss: Equatable, Sendable {
        public var batches: Int64
        /// Sorted.
        public var projects: [String]

        /// The first projects by name, and the number of the others.
        public var projectNames: String {
            let named = projects.prefix(Self.maximumNames).joined(separator: ", ")
            return projects.count > Self.maximumNames
                ? "\(named) and \(projects.count - Self.maximumNames) more" : named
        }

        private static let maximumNames = 3
    }

    private var losses: [String: Loss] = [:]

    public init() {}

    /// The workers that wait for their line.
    public var workers: [String] { losses.keys.sorted() }

    /// Adds what was freed in a project.
    ///
    /// - Parameter lease: the worker's name in the project, which ends with a number of its own there.
    /// - Returns: the worker whose line is due in a moment; nil if it waits for it already.
    public mutating func add(lease: String, project: String, batches: Int64) -> String? {
        let worker = Lease.process(of: lease)
        let isNew = losses[worker] == nil
        var loss = losses[worker] ?? Loss(batches: 0, projects: [])
        loss.batches += max(0, batches)
        if !loss.projects.contains(project) { loss.projects = (loss.projects + [project]).sorted() }
        losses[worker] = loss
        return isNew ? worker : nil
    }

    /// What was freed of a worker so far, for its line; nil after its line.
    public mutating func remove(_ worker: String) -> Loss? { losses.removeValue(forKey: worker) }
}
