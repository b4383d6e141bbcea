internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareRedis
internal import RedisTransport
internal import StreamWire

/// Arguments of the commands on one job.
struct JobArguments: ParsableArguments {
    @Argument(
        help: "The job's id, as `fanfare send` printed it or the producer set it.",
        completion: Completion.jobs
    )
    var id: String

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON.")
    var json = false

    /// Connects and runs the body on the job's project.
    func run(_ body: (ProjectSession) async throws -> Void) async throws {
        try await project.connect(options, body)
    }

    /// Pauses, resumes or cancels the job and prints the outcome.
    /// - Parameters:
    ///   - done: the text for success, from the job's state.
    ///   - isSuccess: whether a job that was over with this state counts as a success.
    /// - Throws: the exit code for failure.
    func change(
        _ done: (_ state: String) -> String,
        isSuccess: (_ state: String) -> Bool = { _ in false },
        _ change: (FanfareOperator<RedisClient>) async throws -> JobControlReply
    ) async throws {
        try await run { session in
            let reply = try await change(session.projectOperator)
            if json { Console.json(outcome(reply, session.project)) }
            switch reply {
            case .ok(let state): if !json { Console.line("job \(id): \(done(state))") }
            case .over(let state) where isSuccess(state): if !json { Console.line("job \(id): already \(state)") }
            case .over(let state):
                let isOver = [.done, .cancelled, .expired, .rejected].contains(JobStatus.State(rawValue: state))
                throw Outcome.failed.because(
                    "job \(id): \(isOver ? "over already (\(state))" : "it is ending already")"
                )
            case .missing: throw Self.missing(id)
            case .parked: throw Self.parked(id, session.project)
            }
        }
    }

    private func outcome(_ reply: JobControlReply, _ project: String) -> JSONObject {
        let (outcome, state): (String, String?) =
            switch reply {
            case .ok(let state): ("ok", state)
            case .over(let state): ("over", state)
            case .missing: ("missing", nil)
            case .parked: ("parked", "parked")
            }
        var object: JSONObject = ["id": .string(id), "project": .string(project), "outcome": .string(outcome)]
        object["state"] = state.map { .string($0) }
        return object
    }

    /// The job may be among the entries that no worker has taken yet.
    static func missing(_ id: String, _ session: ProjectSession) async throws -> ExitCode {
        guard let notice = try await UntakenJobs.read(session)?.notice else { return missing(id) }
        return Outcome.failed.because("job \(id): not there, or not taken yet: \(notice)")
    }

    static func missing(_ id: String) -> ExitCode {
        Outcome.failed.because(
            "job \(id): not there; it was never pushed, not yet taken by a worker, or is no longer kept"
        )
    }

    static func parked(_ id: String, _ project: String) -> ExitCode {
        Outcome.failed.because(
            "job \(id) is parked and needs an operator: see `fanfare dead ls --project \(project) --job \(id)`; correct the "
                + "cause, then resume it with `fanfare dead replay --project \(project) --job \(id)`"
        )
    }
}
