internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import RedisTransport

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

    static func missing(_ id: String) -> ExitCode {
        Outcome.failed.because(
            "job \(id): not there; it was never pushed, not yet taken by a worker, or is no longer kept"
        )
    }

    /// Connects and runs the body on the job's project.
    func run(_ body: (FanfareOperator<RedisClient>) async throws -> Void) async throws {
        let configuration = try options.load()
        let project = try project.resolve(configuration)
        try await RedisSession.run(configuration) { client in
            try await body(FanfareOperator(redis: client, project: project, prefix: configuration.prefix))
        }
    }
}
