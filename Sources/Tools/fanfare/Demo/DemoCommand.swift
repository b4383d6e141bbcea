internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import FanfareSandbox
internal import FanfareWorker
internal import Foundation
internal import Logging
internal import RedisTransport

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

    @Option(help: ArgumentHelp("Recipients, 1 to 100000.", valueName: "n"))
    var tokens = 10_000

    @Option(
        help: ArgumentHelp(
            "Lowest level of the worker's log: trace, debug, info, notice, warning, error, critical.",
            valueName: "level"
        )
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

    /// Writes a configuration file, as a user would, and reads it.
    private func configuration(_ redis: DemoRedis, _ ports: SandboxPorts) throws -> Configuration {
        let file = redis.folder + "/fanfare.yaml"
        let yaml = """
            redis: { url: "\(redis.url)" }
            projects:
              \(Self.project):
                credentials: sandbox/service-account-\(Self.project).json
                endpoint: https://localhost:\(ports.data)
            tls: { ca_file: sandbox/ca.pem }
            log: { level: \(logLevel) }
            """
        try yaml.write(toFile: file, atomically: false, encoding: .utf8)
        do throws(ConfigurationError) {
            return try Configuration.load(file: file, environment: [:])
        } catch {
            throw ConfigurationOptions.report(error)
        }
    }

    private func runWithDashboard(_ configuration: Configuration) async throws {
        let secrets = try configuration.loadSecrets()
        let redis = try configuration.deployment(secrets.redis)
        let worker = Worker(
            configuration: WorkerConfiguration(configuration, secrets: secrets, redis: redis),
            logger: LogOutput.logger(configuration.log)
        )
        let dashboard = Task { await DemoDashboard.serve(configuration) }
        do {
            try await runWorker(worker, configuration)
        } catch {
            dashboard.cancel()
            await dashboard.value
            throw error
        }
        dashboard.cancel()
        await dashboard.value
    }

    private func runWorker(_ worker: Worker, _ configuration: Configuration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if case .failed(let reason) = try await worker.run() {
                    throw Outcome.failed.because("worker: \(reason)")
                }
            }
            group.addTask {
                // If the fan-out fails, drain the worker too: the group waits for both.
                defer { worker.drain() }
                try await RedisSession.run(configuration) { try await fanOut($0) }
            }
            try await group.waitForAll()
        }
    }

    private func fanOut(_ client: RedisClient) async throws {
        let mix = DemoMix(count: tokens)
        let producer = FanfareProducer(redis: client, project: Self.project)
        var job = PushJob(
            target: .tokens(mix.tokens),
            message: #"{"notification":{"title":"Hello","body":"from Fanfare"},"data":{"article":"42"}}"#
        )
        job.results = .all
        let id = try await producer.push(job)
        Console.error("job \(id): \(tokens) recipients\n")
        let projectOperator = FanfareOperator(redis: client, project: Self.project)
        let status = try await JobWait(projectOperator: projectOperator, job: id).watch().status
        guard status.state == .done else {
            throw Outcome.failed.because("the job ended as \(status.state)\(status.reason.map { ": \($0)" } ?? "")")
        }
        var summary = DemoSummary()
        try await producer.results(of: status) { entry in
            for result in entry.results { summary.add(result) }
        }
        if json {
            Console.line(JSONValue.object(summary.json(mix, status)).jsonText)
        } else {
            for line in summary.lines(mix, status) { Console.line(line) }
        }
        if stay {
            Console.error("\nrunning until Ctrl-C")
            try? await Task.sleep(for: .seconds(31_536_000))
        }
        if !summary.isAsExpected(mix) { throw ExitCode(Outcome.failed.rawValue) }
    }
}
