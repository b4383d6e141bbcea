/// What every scenario of a call is given.
struct Bench {
    let options: Options
    let workspace: Workspace
    let certificates: Certificates
    /// The worker's program; nil when it is left out.
    var executable: String?
    /// The HTTP engine of the workers that ``fleet(_:workers:settings:)`` starts.
    var engine: HTTPEngine
    /// Of the Redis of these workers.
    var persistence = PrivateRedis.Persistence.none

    init(options: Options, workspace: Workspace, certificates: Certificates, executable: String?) {
        self.options = options
        self.workspace = workspace
        self.certificates = certificates
        self.executable = executable
        engine = options.engines[0]
    }

    /// The contender once for each engine of the run.
    func perEngine(_ contender: (Bench) -> any Contender) -> [any Contender] {
        options.engines.map { engine in
            var bench = self
            bench.engine = engine
            return EngineContender(engine: engine, contender: contender(bench))
        }
    }

    /// The same with the worker of `--before` on curl, for a side named ``beforeName``; nil without that option.
    var before: Bench? {
        options.before.map { path in
            var bench = self
            bench.executable = path
            bench.engine = .curl
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

    /// Starts workers on ``engine``, whichever engine the settings name.
    func fleet(
        _ target: Target,
        workers: Int = 1,
        settings: WorkerSettings = WorkerSettings()
    ) throws -> Fleet {
        var settings = settings
        settings.engine = engine
        return try Fleet(
            executable: try fanfare(),
            target: target,
            workers: workers,
            settings: settings,
            persistence: persistence,
            in: workspace
        )
    }
}
