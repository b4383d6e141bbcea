internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareRedis
internal import StreamWire

/// The project of a job: `--project`, or the only one that has the job.
struct JobPlace: ParsableArguments {
    @Option(
        help: .value("id", "The job's project. Default: the only one that has the job."),
        completion: Completion.projects
    )
    var project: String?

    @OptionGroup var options: ConfigurationOptions

    func connect(_ body: (RedisClient, Configuration) async throws -> Void) async throws {
        let configuration = try options.load()
        if project != nil { _ = try option.resolve(configuration) }
        try await RedisSession.run(configuration) { try await body($0, configuration) }
    }

    private var option: ProjectOption {
        var option = ProjectOption()
        option.project = project
        return option
    }

    /// The project of `--project`; else the configuration's only one, if it has the job or no project has it; else the
    /// only project of the fleet that has the job.
    /// - Throws: the exit code, if no project or more than one has the job.
    func project(of job: String, _ client: RedisClient, _ configuration: Configuration) async throws -> String {
        guard project == nil else { return try option.resolve(configuration) }
        let configured = configuration.projects.map(\.id)
        let only = configured.count == 1 ? configured[0] : nil
        if let only, try await isIn(only, job, client, configuration) { return only }
        var found: [String] = []
        let names = try await FleetProjects.read(client, configuration)
        for name in names where try await isIn(name, job, client, configuration) { found.append(name) }
        if found.count == 1 { return found[0] }
        guard found.isEmpty else {
            throw Outcome.usage.because(
                "job \(job): \(found.joined(separator: ", ")) have a job with this id; name one with --project"
            )
        }
        // It may be among the entries of this project.
        if only != nil || names.isEmpty { return try option.resolve(configuration) }
        throw Outcome.failed.because(
            "job \(job): not there; no project has it. If no worker has taken it yet, name its project with --project"
        )
    }

    /// False for a project that this user may not read.
    private func isIn(
        _ project: String,
        _ job: String,
        _ client: RedisClient,
        _ configuration: Configuration
    ) async throws -> Bool {
        let keys = ProjectKeys(prefix: configuration.prefix, project: project)
        do throws(RedisError) {
            // Producers may read a job and nothing else about it.
            let hash = try await client.send(RedisCommand("HGETALL", keys.job(job)))
            if JobStatus(id: job, reply: hash) != nil { return true }
            return (try? await client.send(JobInquiry.expand(keys, job: job)).integer) == 1
        } catch {
            guard error.code == .noPerm else { throw error }
            return false
        }
    }
}
