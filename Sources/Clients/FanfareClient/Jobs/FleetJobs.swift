internal import StreamWire

/// Reads the jobs of many projects, a page at a time. A page costs a bounded number of commands, whatever Redis holds.
public struct FleetJobs<Redis: RedisSending>: Sendable {
    public struct Row: Equatable, Sendable {
        public var project: String
        public var progress: JobProgress
    }

    public struct Page: Equatable, Sendable {
        /// Project by project, in the order of their names; in a project as ``FanfareOperator/jobs(_:limit:reads:)`` lists them.
        public var rows: [Row] = []
        /// Projects with more jobs than the page shows.
        public var cut: [String] = []
        /// The project after which the next page begins; nil on the last page.
        public var next: String?
    }

    private static var projectsAtOnce: Int { 8 }
    private static var maximumProjects: Int { 200 }
    private static var maximumReads: Int { 10_000 }

    private let redis: Redis
    private let prefix: String
    private let perProject: Int
    private let readsPerProject: Int

    /// - Parameters:
    ///   - perProject: maximum number of jobs that a page shows of a project.
    ///   - readsPerProject: maximum number of jobs that are read of a project to find them.
    public init(redis: Redis, prefix: String = "fanfare", perProject: Int = 100, readsPerProject: Int = 1_000) {
        self.redis = redis
        self.prefix = prefix
        self.perProject = perProject
        self.readsPerProject = readsPerProject
    }

    /// - Parameters:
    ///   - projects: their ids, ascending.
    ///   - after: the ``Page/next`` of the page before.
    ///   - limit: number of jobs after which the page ends. It may have more: it holds whole projects.
    ///   - fits: leaves out other jobs of the filter.
    public func page(
        _ filter: JobFilter,
        projects: [String],
        after: String? = nil,
        limit: Int = 500,
        fits: @Sendable (JobStatus) -> Bool = { _ in true }
    ) async throws -> Page {
        let rest = projects.filter { $0 > after ?? "" }
        guard let nowMs = JobInquiry.milliseconds(try await redis.reply(to: JobInquiry.time)) else {
            throw FanfareClientError(.unexpectedReply, "TIME did not answer with a time")
        }
        var page = Page()
        var reads = 0
        var end = 0
        while end < min(rest.count, Self.maximumProjects), page.rows.count < limit, reads < Self.maximumReads {
            let names = rest[end..<min(end + Self.projectsAtOnce, rest.count)]
            let lists = try await withThrowingTaskGroup(of: (String, JobList, OverviewReply?).self) { group in
                for name in names {
                    group.addTask { try await read(name, filter) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (name, list, overview) in lists.sorted(by: { $0.0 < $1.0 }) {
                reads += list.reads
                if !list.isWhole { page.cut.append(name) }
                page.rows += list.jobs.filter(fits).map {
                    Row(project: name, progress: JobProgress(status: $0, nowMs: nowMs, project: overview))
                }
            }
            end += names.count
        }
        if end < rest.count { page.next = rest[end - 1] }
        return page
    }

    private func read(_ project: String, _ filter: JobFilter) async throws -> (String, JobList, OverviewReply?) {
        let target = FanfareOperator(redis: redis, project: project, prefix: prefix)
        let list = try await target.jobs(filter, limit: perProject, reads: readsPerProject)
        // Says what stops an open job. Optional: a producer's user may not read it.
        let isOpen = list.jobs.contains { !$0.isOver }
        return (project, list, isOpen ? try? await target.overview() : nil)
    }
}
