internal import ArgumentParser
internal import EventLoop
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareDashboard
internal import FanfareModel
internal import FanfareSandbox
internal import FanfareWorker
internal import Glibc
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs Redis, the FCM simulator and a worker on this machine, without a Google account.",
        discussion: """
            Starts a private redis-server (unix socket, temporary folder), the FCM simulator, a worker and the dashboard. \
            Pushes one job, of whose recipients 4 % fail, covering each kind of FCM error, and prints the results by error. \
            Stops and removes everything at its end. `sent` means accepted by FCM.

            The quota is so high that it does not bind, and retries follow after seconds: the last line says how fast this \
            machine sends while it also runs the simulator.

            Exits with 0 if every recipient has the expected result, with 1 if not, with 69 if redis-server is not \
            installed, and with 130 if Ctrl-C interrupts it.

            Examples:
              fanfare demo --tokens 10000
              fanfare demo --tokens 1000000 --engine nghttp2
              fanfare demo --tokens 500 --stay
            """
    )

    @Option(help: .value("n", "Recipients, 1 to 1000000."))
    var tokens = 10_000

    @Option(
        help: .value("name", "The library that carries the requests: curl or nghttp2."),
        completion: Self.engines.completion,
        transform: Self.engines.value
    )
    var engine = HTTPEngine.curl

    @Option(
        help: .value("level", "Lowest level of the worker's log: trace, debug, info, notice, warning, error, critical.")
    )
    var logLevel = "critical"

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(help: "Keep everything running after the summary, and print how to push more jobs to it.")
    var stay = false

    private static let project = "demo"
    private static let engines = Words(list: HTTPEngine.allCases.map(\.rawValue))
    /// Messages a minute, more than any machine sends, even at the start of the ramp.
    private static let quotaPerMinute = 600_000_000
    /// The least wait before a retry; FCM asks for ten seconds.
    private static let retryMs: Int64 = 1_000

    func validate() throws {
        guard (1...1_000_000).contains(tokens) else { throw ValidationError("--tokens must be 1 to 1000000") }
        guard Logger.Level(rawValue: logLevel) != nil else {
            throw ValidationError("--log-level must be trace, debug, info, notice, warning, error or critical")
        }
    }

    func run() async throws {
        let redis = try DemoRedis()
        defer { redis.stop() }
        // The exit code after the summary, when the demo stays.
        let code = Locked<Int32?>(nil)
        // Ends at once: servers that are cut short at their start, or lose each other, complain in their own words.
        let signals = StopSignals(withNumber: { number in
            if let code = code.withLock({ $0 }) {
                redis.stop()
                _exit(code)
            }
            Console.error("fanfare: interrupted; everything is stopped and removed")
            // The sandbox may still write files: Redis and the folder go with this process.
            _exit(128 + number)
        })
        defer { signals.cancel() }
        try await runDemo(redis, code)
    }

    /// - Parameter code: set before the demo stays.
    private func runDemo(_ redis: DemoRedis, _ code: Locked<Int32?>) async throws {
        Console.error("redis-server: \(redis.url)")
        var options = SandboxOptions(stateDirectory: redis.folder + "/sandbox", projects: [Self.project])
        options.port = 0
        options.controlPort = 0
        options.quotaPerMinute = Self.quotaPerMinute
        let sandbox = Sandbox(options: options, logger: LogOutput.logger(.error))
        let ports = try await sandbox.start()
        Console.error("sandbox: https://localhost:\(ports.data)")
        do {
            let local = LocalSandbox(
                folder: redis.folder,
                project: Self.project,
                port: ports.data,
                controlPort: ports.control,
                settings: ["quota_per_minute: \(Self.quotaPerMinute)", "http_engine: \(engine.rawValue)"]
            )
            try local.writeConfiguration(redis: redis.url)
            let guide = SystemGuide(
                file: local.file,
                socket: redis.socket,
                project: Self.project,
                controlPort: ports.control
            )
            let configuration = try Configuration.load(
                file: local.file,
                environment: [:],
                flags: ["log.level": logLevel]
            )
            try await runWithDashboard(configuration, guide, code)
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private func runWithDashboard(
        _ configuration: Configuration,
        _ guide: SystemGuide,
        _ code: Locked<Int32?>
    ) async throws {
        let secrets = try configuration.loadSecrets()
        let redis = try configuration.deployment(secrets.redis)
        var settings = WorkerConfiguration(configuration, secrets: secrets, redis: redis)
        settings.simulatedRetryMs = Self.retryMs
        let worker = Worker(configuration: settings, logger: LogOutput.logger(configuration.log))
        // Cancelled at the end of this scope.
        let dashboardPort = Locked<Int?>(nil)
        async let _ = serveDashboard(configuration, dashboardPort)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await worker.run() }
            group.addTask {
                // If the fan-out fails, drain the worker too: the group waits for both.
                defer { worker.drain() }
                try await RedisSession.run(configuration) { client in
                    let session = ProjectSession(client: client, project: Self.project, prefix: configuration.prefix)
                    let isAsExpected = try await fanOut(session)
                    if stay {
                        code.withLock { $0 = isAsExpected ? 0 : 1 }
                        var guide = guide
                        guide.dashboardPort = dashboardPort.withLock { $0 }
                        Console.error("\nRunning until Ctrl-C, which removes everything. In another terminal:\n")
                        for line in guide.lines { Console.error(line) }
                        try? await Task.sleep(for: .seconds(31_536_000))
                    }
                    if !isAsExpected { throw ExitCode.failure }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Serves the dashboard until the task is cancelled. The demo continues without it if it cannot start.
    private func serveDashboard(_ configuration: Configuration, _ port: Locked<Int?>) async {
        var settings = DashboardOptions()
        settings.port = 0
        do {
            let dashboard = try DashboardCommand.dashboard(settings, configuration)
            try await dashboard.run { taken in
                port.withLock { $0 = taken }
                Console.error("dashboard: http://127.0.0.1:\(taken)")
            }
        } catch {
            if !Task.isCancelled { Console.error("fanfare: no dashboard: \(error)") }
        }
    }

    /// Pushes the job, follows it and prints the summary. False if a recipient has an unexpected result.
    private func fanOut(_ session: ProjectSession) async throws -> Bool {
        let mix = DemoMix(count: tokens)
        let isLong = tokens > AudienceList.inlineLimit
        var job = PushJob(
            target: try await target(mix, session),
            message: #"{"notification":{"title":"Hello","body":"from Fanfare"},"data":{"article":"42"}}"#
        )
        // Results of a million recipients are not kept in memory.
        job.results = isLong ? .failures : .all
        // The worker's threads may not have started yet.
        let start = DemoSpeed.workerCPUSeconds() ?? 0
        let id = try await session.producer.push(job)
        Console.error("job \(id): \(tokens) recipients\n")
        let status = try await JobWait(session: session, job: id).watch().status
        let cpu = DemoSpeed.workerCPUSeconds().map { $0 - start }
        guard status.state == .done else {
            throw Outcome.failed.because("the job ended as \(status.state)\(status.reason.map { ": \($0)" } ?? "")")
        }
        var summary = DemoSummary(sent: isLong ? status.sent : nil)
        try await session.producer.results(of: status) { entry in
            for result in entry.results { summary.add(result) }
        }
        let speed = DemoSpeed(status, cpuSeconds: cpu, engine: engine)
        if json {
            Console.json(summary.json(mix, status, speed))
        } else {
            for line in summary.lines(mix, status, speed) { Console.line(line) }
        }
        return summary.isAsExpected(mix)
    }

    /// The recipients: in the job, or in a list if they are many.
    private func target(_ mix: DemoMix, _ session: ProjectSession) async throws -> Target {
        guard tokens > AudienceList.inlineLimit else { return .tokens(RecipientList((0..<tokens).map(mix.token))) }
        let key = AudienceList.newKey(project: Self.project)
        var list = AudienceList(key, session.client, startMs: nil, noun: "tokens")
        var (piece, next): ([String], Int) = ([], 0)
        try await list.write(&piece, because: "more than \(AudienceList.inlineLimit) tokens", \.utf8) {
            guard next < tokens else { return nil }
            defer { next += 1 }
            return mix.token(next)
        }
        return .audience(key: key)
    }
}
