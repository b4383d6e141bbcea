internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import RedisTransport

/// What the commands on one job take.
struct JobArguments: ParsableArguments {
    @Argument(
        help: "The job's id, as `fanfare send` printed it or as the producer gave it.",
        completion: Completion.jobs
    )
    var id: String

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON.")
    var json = false

    static func missing(_ id: String) -> ExitCode {
        Outcome.failed.because(
            "job \(id): not there; it was never pushed, no worker has taken it yet, or it is no longer kept"
        )
    }

    /// Runs with a connection and the job's project.
    func run(_ body: (FanfareOperator<RedisClient>) async throws -> Void) async throws {
        let configuration = try options.load()
        let project = try project.resolve(configuration)
        try await RedisSession.run(configuration) { client in
            try await body(FanfareOperator(redis: client, project: project, prefix: configuration.prefix))
        }
    }
}
