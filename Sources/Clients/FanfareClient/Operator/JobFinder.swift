internal import StreamWire

/// The jobs that a list holds.
public struct JobFilter: Equatable, Sendable {
    /// Only jobs in one of these states; nil: all that are not over, and with ``includesOver`` the others, too.
    public var states: Set<JobStatus.State>?
    /// Only jobs whose id contains this text, whatever its case; empty: all.
    public var text = ""
    public var includesOver = false

    public init(states: Set<JobStatus.State>? = nil, text: String = "", includesOver: Bool = false) {
        self.states = states
        self.text = text
        self.includesOver = includesOver
    }

    var findsOpen: Bool { states?.contains { !$0.isOver } ?? true }
    var findsOver: Bool { states?.contains { $0.isOver } ?? includesOver }

    func fits(id: String) -> Bool { text.isEmpty || id.lowercased().contains(text.lowercased()) }
}

/// Reads the jobs of several lists of ids, each job once, until there are enough.
struct JobFinder<Redis: RedisSending> {
    private let redis: Redis
    private let keys: ProjectKeys
    private let filter: JobFilter
    private let limit: Int
    private let maximumReads: Int
    private(set) var found: [JobStatus] = []
    /// Index in ``found`` from which jobs are sorted by time.
    var othersStart = 0
    private var seen: Set<String> = []
    private var reads = 0
    private var looks = 0

    init(redis: Redis, keys: ProjectKeys, filter: JobFilter, limit: Int, reads: Int) {
        self.redis = redis
        self.keys = keys
        self.filter = filter
        self.limit = limit
        maximumReads = reads
    }

    /// An id costs a fiftieth of a hash.
    private var isExhausted: Bool { reads >= maximumReads || looks / 50 >= maximumReads }
    private var isFull: Bool { found.count > limit || isExhausted }

    var list: JobList {
        let others = found[othersStart...].sorted { ($0.createdMs ?? 0, $0.id) > ($1.createdMs ?? 0, $1.id) }
        return JobList(jobs: Array((found[..<othersStart] + others).prefix(limit)), isWhole: !isFull, reads: reads)
    }

    /// Follows a scan cursor to its end, or until there are enough jobs.
    mutating func scan(_ step: (String) -> RedisCommand) async throws {
        var cursor = "0"
        repeat {
            guard !isFull else { return }
            let reply = try await redis.reply(to: step(cursor)).array ?? []
            guard reply.count == 2, let next = reply[0].string else {
                throw FanfareClientError(.unexpectedReply, "a scan answered without a cursor")
            }
            try await add((reply[1].array ?? []).compactMap(\.string))
            cursor = next
        } while cursor != "0"
    }

    mutating func add(_ ids: [String]) async throws {
        looks += ids.count
        let new = ids.filter { filter.fits(id: $0) && !seen.contains($0) }
        for start in stride(from: 0, to: new.count, by: 100) where !isFull {
            let page = new[start..<min(start + 100, new.count)]
            let statuses = try await FanfareOperator<Redis>.statuses(of: page, redis, keys)
            reads += page.count
            for status in page.compactMap({ statuses[$0] }) where seen.insert(status.id).inserted {
                if filter.states?.contains(status.state) ?? true { found.append(status) }
            }
        }
    }

    /// Adds jobs that are over, newest first.
    mutating func addFinished() async throws {
        var skipped = 0
        while !isFull {
            let command = HistoryInquiry.finished(keys, before: nil, skipping: skipped, most: 200)
            let flat = try await redis.reply(to: command).array ?? []
            let ids = stride(from: 0, to: flat.count, by: 2).compactMap { flat[$0].string }
            try await add(ids)
            skipped += ids.count
            if ids.count < 200 { return }
        }
    }
}
