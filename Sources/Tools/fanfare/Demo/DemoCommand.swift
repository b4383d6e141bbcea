internal import ArgumentParser
internal import EventLoop
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareDashboard
internal import FanfareJSON
internal import FanfareModel
internal import FanfareSandbox
internal import FanfareWorker
internal import FoundationEssentials
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

            Exits with 0 if every recipient has the expected result, with 1 if not or if it is interrupted, and with 69 if \
            redis-server is not installed.

            Examples:
              fanfare demo --tokens 10000
              fanfare demo --tokens 500 --stay
            """
    )

    @Option(help: .value("n", "Recipients, 1 to 100000."))
    var tokens = 10_000

    @Option(
        help: .value("level", "Lowest level of the worker's log: trace, debug, info, notice, warning, error, critical.")
    )
    var logLevel = "critical"

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(help: "Keep everything running after the summary, and print how to push more jobs to it.")
    var stay = false

    private static let project = "demo"

    func validate() throws {
        guard (1...100_000).contains(tokens) else { throw ValidationError("--tokens must be 1 to 100000") }
        guard Logger.Level(rawValue: logLevel) != nil else {
            throw ValidationError("--log-level must be trace, debug, info, notice, warning, error or critical")
        }
    }

    func run() async throws {
        let demo = Task { try await self.runDemo() }
        let signals = StopSignals { demo.cancel() }
        defer { signals.cancel() }
        do {
            try await demo.value
        } catch {
            // A start that is cut short fails in its own words: a server did not listen, a socket is missing.
            guard demo.isCancelled else { throw error }
            throw Outcome.failed.because("interrupted; everything is stopped and removed")
        }
    }

    private func runDemo() async throws {
        let redis = try DemoRedis()
        defer { redis.stop() }
        Console.error("redis-server: \(redis.url)")
        var options = SandboxOptions(stateDirectory: redis.folder + "/sandbox", projects: [Self.project])
        options.port = 0
        options.controlPort = 0
        let sandbox = Sandbox(options: options, logger: LogOutput.logger(.error))
        let ports = try await sandbox.start()
        Console.error("sandbox: https://localhost:\(ports.data)")
        do {
            let local = LocalSandbox(
                folder: redis.folder,
                project: Self.project,
                port: ports.data,
                controlPort: ports.control
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
            try await runWithDashboard(configuration, guide)
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private func runWithDashboard(_ configuration: Configuration, _ guide: SystemGuide) async throws {
        let secrets = try configuration.loadSecrets()
        let redis = try configuration.deployment(secrets.redis)
        let worker = Worker(
            configuration: WorkerConfiguration(configuration, secrets: secrets, redis: redis),
            logger: LogOutput.logger(configuration.log)
        )
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

    /// Serves the dashboard until the task is cancelled. The demo goes on without it if it cannot start.
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
        var job = PushJob(
            target: .tokens(mix.tokens),
            message: #"{"notification":{"title":"Hello","body":"from Fanfare"},"data":{"article":"42"}}"#
        )
        job.results = .all
        let id = try await session.producer.push(job)
        Console.error("job \(id): \(tokens) recipients\n")
        let status = try await JobWait(session: session, job: id).watch().status
        guard status.state == .done else {
            throw Outcome.failed.because("the job ended as \(status.state)\(status.reason.map { ": \($0)" } ?? "")")
        }
        var summary = DemoSummary()
        try await session.producer.results(of: status) { entry in
            for result in entry.results { summary.add(result) }
        }
        if json {
            Console.json(summary.json(mix, status))
        } else {
            for line in summary.lines(mix, status) { Console.line(line) }
        }
        return summary.isAsExpected(mix)
    }
}
