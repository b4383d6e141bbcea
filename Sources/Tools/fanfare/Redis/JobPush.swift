internal import FanfareClient
internal import FanfareJSON
internal import FanfareRedis
internal import StreamWire

/// Pushes one job and reports what the user has to know: that its id was pushed before, and that its project does not
/// send at the moment.
struct JobPush {
    let session: ProjectSession
    let job: PushJob
    /// Writes what the job needs in Redis, just before it is pushed.
    var prepare: () async throws -> Void = {}
    /// Whether the user learns why the project does not send at the moment.
    var warns = true

    /// The outcome of a push.
    struct Pushed {
        let id: String
        /// A job with this id was pushed before, so nothing is sent.
        let isDuplicate: Bool
        /// The job that had the id before the push, as it was then; nil if there was none.
        let earlier: JobStatus?
        /// The stream entry; nil if nothing was pushed.
        let entryID: String?
        /// Whether the user was told why the job may wait.
        var isWarned = false

        /// Whether a status is of the job that this push is about: of the earlier job only if this one is its duplicate.
        func isAwaited(_ status: JobStatus) -> Bool {
            guard let earlier, !isDuplicate else { return true }
            return status.createdMs != earlier.createdMs || status.duplicates > earlier.duplicates
        }

        /// Whether the job turned out to be the earlier one.
        func isDuplicate(of status: JobStatus) -> Bool {
            isDuplicate || earlier.map { $0.createdMs == status.createdMs } ?? false
        }

        /// What the JSON of the push says besides.
        var members: [JSONObject.Member] { isDuplicate ? [Self.duplicate] : [] }
        static let duplicate = JSONObject.Member(key: "duplicate", value: true)
    }

    // MARK: Pushing

    /// Pushes the job and prints its id.
    /// - Parameters:
    ///   - waits: also follows the job to its end.
    ///   - isJSON: prints JSON: the id, or the finished job.
    /// - Throws: the exit code for failure.
    func run(waits: Bool, isJSON: Bool) async throws {
        let pushed = try await push()
        guard waits else { return printID(pushed, isJSON: isJSON) }
        if !isJSON { Console.line(pushed.id) }
        let wait = JobWait(session: session, job: pushed.id, isAwaited: pushed.isAwaited, isWarned: pushed.isWarned)
        let progress = try await wait.watch()
        var isDuplicate = pushed.isDuplicate(of: progress.status)
        if !isDuplicate, let entry = pushed.entryID { isDuplicate = await hasOtherOwner(than: entry) }
        if isDuplicate, !pushed.isDuplicate { report(progress.status) }
        try await wait.finish(progress, isJSON: isJSON, more: isDuplicate ? [Pushed.duplicate] : [])
    }

    func printID(_ pushed: Pushed, isJSON: Bool) {
        let object: JSONObject = ["id": .string(pushed.id), "project": .string(session.project)]
        Console.result(pushed.id, JSONObject(object.members + pushed.members), isJSON: isJSON)
    }

    /// Pushes the job, unless its id was pushed before.
    func push() async throws -> Pushed {
        // The register only serves operators, so a user that may not write it may still push.
        let projects = ProjectKeys.projects(prefix: session.prefix)
        _ = try? await session.client.send(RedisCommand("SADD", projects, session.project))
        let earlier = await earlierJob()
        let owner = await owner()
        // A job that is not over keeps its id beyond the dedupe window.
        if let id = job.id, owner.entry != nil || earlier?.isOver == false {
            report(earlier)
            return Pushed(id: id, isDuplicate: true, earlier: earlier, entryID: nil)
        }
        try await prepare()
        let entry = try await add()
        let id = job.id ?? entry
        // Another push of the same id may have been quicker.
        let isDuplicate = await hasOtherOwner(than: entry)
        var isWarned = false
        if isDuplicate {
            report(await earlierJob())
        } else {
            if let earlier, earlier.state != .rejected, !owner.isKnown {
                Console.error(
                    "fanfare: a job \(id) is there already (state \(earlier.state)): unless its id is forgotten by now "
                        + "(retention.dedupe_hours), nothing is sent"
                )
            }
            let warnings = warns ? await warningsNow() : []
            ConfigurationOptions.warn(warnings)
            isWarned = !warnings.isEmpty
        }
        return Pushed(id: id, isDuplicate: isDuplicate, earlier: earlier, entryID: entry, isWarned: isWarned)
    }

    private func add() async throws -> String {
        do {
            return try await session.producer.add(job)
        } catch let error as RedisError where error.maybeApplied {
            let advice =
                job.id == nil ? "without --id, pushing again may send twice" : "its --id makes it safe to push again"
            throw Outcome.unavailable.because("the job may have been pushed or not (\(error)); \(advice)")
        }
    }

    // MARK: Duplicates

    /// The job that has the id now; nil also if the user may not read it.
    private func earlierJob() async -> JobStatus? {
        guard let id = job.id else { return nil }
        return try? await session.producer.status(of: id)
    }

    /// The stream entry whose job has the id in the dedupe window; `isKnown` is false where the user may not read it.
    private func owner() async -> (entry: String?, isKnown: Bool) {
        guard let id = job.id else { return (nil, true) }
        let command = JobInquiry.seen(session.producer.keys, job: id)
        guard let reply = try? await session.client.send(command) else { return (nil, false) }
        return (reply.string, true)
    }

    private func hasOtherOwner(than entry: String) async -> Bool {
        let owner = await owner().entry
        return owner != nil && owner != entry
    }

    private func report(_ earlier: JobStatus?) {
        let state = earlier.map { "state \($0.state)" } ?? "its state is no longer kept"
        Console.error("fanfare: job \(job.id ?? "") was pushed before (\(state)): nothing is sent")
    }

    // MARK: Warnings

    /// Why the project sends nothing at the moment, as sentences. Empty where the user may not read it.
    private func warningsNow() async -> [String] {
        let project = session.project
        let snapshot: ProjectSnapshot
        do {
            snapshot = try await FleetReader(redis: session.client, prefix: session.prefix).read(project)
        } catch let error as RedisError where error.code == .functionNotFound {
            return ["no worker has ever used this Redis: the job waits until one starts that serves project \(project)"]
        } catch {
            return []
        }
        if let fault = snapshot.fault { return ["workers cannot serve project \(project): \(fault)"] }
        var warnings: [String] = []
        let condition = snapshot.condition
        if ["paused", "blocked", "unreachable", "backpressure"].contains(condition.word) {
            let reason = condition.reason.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
            let remedy = condition.word == "paused" ? "; `fanfare project resume \(project)` ends that" : ""
            warnings.append("project \(project) is \(condition.word)\(reason): the job waits\(remedy)")
        }
        if snapshot.workersAlive == 0 {
            warnings.append("no worker serves project \(project): the job waits until one starts")
        }
        return warnings
    }
}
