internal import ArgumentParser

/// Arguments of the commands that show one job.
struct JobArguments: ParsableArguments {
    @Argument(
        help: "The job's id, as `fanfare send` printed it or the producer set it.",
        completion: Completion.jobs
    )
    var id: String

    @OptionGroup var place: JobPlace

    @Flag(help: "Print JSON.")
    var json = false

    /// Connects and runs the body on the job's project.
    func run(_ body: (ProjectSession) async throws -> Void) async throws {
        try await place.connect { client, configuration in
            let project = try await place.project(of: id, client, configuration)
            try await body(ProjectOption.session(client, project, configuration))
        }
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
