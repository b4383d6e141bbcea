internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareDashboard
internal import FanfareJSON
internal import FanfareModel
internal import FanfareSandbox
internal import FanfareWorker
internal import Foundation
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs Redis, the FCM simulator and a worker on this machine, without a Google account.",
        discussion: """
            Starts a private redis-server (unix socket, temporary folder), the FCM simulator, a worker and the dashboard. \
            Pushes one job, of whose recipients 4 % fail, covering each kind of FCM error, and prints the results by error. \
            Stops and removes everything at its end. Exits with 0 if every recipient has the expected result. `sent` means \
            accepted by FCM.

            Example:
              fanfare demo --tokens 10000
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

    @Flag(help: "Keep everything running after the summary, to look at the dashboard.")
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
        } catch is CancellationError {
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
            try await runWithDashboard(try configuration(redis, ports))
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private func configuration(_ redis: DemoRedis, _ ports: SandboxPorts) throws -> Configuration {
        let state = redis.folder + "/sandbox"
        let environment = [
            "FANFARE_REDIS_URL": redis.url, "FANFARE_PROJECTS": Self.project,
            "FANFARE_PROJECTS_DEMO_CREDENTIALS": state + "/service-account-\(Self.project).json",
            "FANFARE_PROJECTS_DEMO_ENDPOINT": "https://localhost:\(ports.data)",
            "FANFARE_TLS_CA_FILE": state + "/ca.pem", "FANFARE_LOG_LEVEL": logLevel,
        ]
        return try Configuration.load(file: nil, environment: environment)
    }

    private func runWithDashboard(_ configuration: Configuration) async throws {
        let secrets = try configuration.loadSecrets()
        let redis = try configuration.deployment(secrets.redis)
        let worker = Worker(
            configuration: WorkerConfiguration(configuration, secrets: secrets, redis: redis),
            logger: LogOutput.logger(configuration.log)
        )
        // Cancelled at the end of this scope.
        async let _ = serveDashboard(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await worker.run() }
            group.addTask {
                // If the fan-out fails, drain the worker too: the group waits for both.
                defer { worker.drain() }
                try await RedisSession.run(configuration) { client in
                    try await fanOut(
                        ProjectSession(client: client, project: Self.project, prefix: configuration.prefix)
                    )
                }
            }
            try await group.waitForAll()
        }
    }

    /// Serves the dashboard until the task is cancelled. The demo goes on without it if it cannot start.
    private func serveDashboard(_ configuration: Configuration) async {
        var settings = DashboardOptions()
        settings.port = 0
        do {
            let dashboard = try DashboardCommand.dashboard(settings, configuration)
            try await dashboard.run { Console.error("dashboard: http://127.0.0.1:\($0)") }
        } catch {
            if !Task.isCancelled { Console.error("fanfare: no dashboard: \(error)") }
        }
    }

    private func fanOut(_ session: ProjectSession) async throws {
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
        if stay {
            Console.error("\nrunning until Ctrl-C")
            try? await Task.sleep(for: .seconds(31_536_000))
        }
        if !summary.isAsExpected(mix) { throw ExitCode.failure }
    }
}
