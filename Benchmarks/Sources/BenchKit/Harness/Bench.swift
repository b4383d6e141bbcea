/// What every scenario of a call is given.
struct Bench {
    let options: Options
    let workspace: Workspace
    let certificates: Certificates
    /// The worker's program; nil when it is left out.
    var executable: String?

    /// The same with the worker of `--before`, for a side named ``beforeName``; nil without that option.
    var before: Bench? {
        options.before.map { path in
            var bench = self
            bench.executable = path
            return bench
        }
    }

    static let beforeName = "before"

    var form: Form { options.form }

    func fanfare() throws -> String {
        guard let executable else { throw BenchError.usage("--floor-only leaves nothing of this scenario to measure") }
        return executable
    }

    func sink(_ traits: Sink.Traits = Sink.Traits()) throws -> Sink {
        var traits = traits
        traits.streams = options.streams
        return try Sink(certificates: certificates, traits: traits, in: workspace)
    }

    func fleet(
        _ target: Target,
        workers: Int = 1,
        settings: WorkerSettings = WorkerSettings()
    ) throws -> Fleet {
        try Fleet(
            executable: try fanfare(),
            target: target,
            workers: workers,
            settings: settings,
            in: workspace
        )
    }
}
