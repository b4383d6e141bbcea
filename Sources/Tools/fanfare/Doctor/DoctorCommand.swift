internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareJSON
internal import RedisTransport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks Redis, credentials and the route to FCM; prints one verdict and fix per check.",
        discussion: """
            A verdict is ok, warn or FAIL; failures stand last, and the last line counts them. Equal verdicts of many projects \
            are one line; --json lists all. Changes nothing.

            Exits with 0 if no verdict is FAIL, with 1 if one is, also if Redis cannot be reached, and with 78 if the \
            configuration cannot be read. Facts that the Redis user may not read (CONFIG GET, FUNCTION LIST) are reported as unknown.

            It gets an access token, has FCM validate a message without delivering it, and scans Redis for jobs of \
            projects that have no worker. It needs the credentials, so run it as the workers' user. With --no-online it \
            connects to Redis only.

            Examples:
              fanfare doctor -c fanfare.yaml
              fanfare doctor -c fanfare.yaml --no-online
              fanfare doctor --json | jq -r '.checks[] | select(.verdict == "fail").text'
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(inversion: .prefixedNo, help: "Get a token, test the route to FCM, and scan Redis for unknown projects.")
    var online = true

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        let deployment = try configuration.deployment()
        var subject = Check.Subject(configuration: configuration, deployment: deployment)
        subject.ignoredVariables = ProcessProtection.ignored
        subject.isOnline = online
        do throws(RedisError) {
            let client = try await RedisSession.connect(deployment, configuration)
            defer { client.close() }
            let probe = RedisProbe(client: client, isCluster: deployment.form == .cluster, configuration: configuration)
            subject.redis = try await probe.facts()
            // The other components' users have rights of their own.
            let isOther = ["fanfare-worker", "fanfare-operator"].contains(subject.redis?.user)
            if let project = configuration.projects.first, configuration.gateway.keysFolder != nil, !isOther {
                subject.redis?.gatewayRefusal = try await probe.gatewayRefusal(project: project.id)
            }
            if online { subject.redis?.unknownProjects = try await probe.unknownProjects() }
        } catch {
            subject.redisError = error
        }
        var findings: [Finding] = []
        for check in Check.all {
            let new = await check.examine(subject)
            if !json { printAll(new, .ok, configuration) }
            findings += new
        }
        if !json {
            // Warnings and failures stand last, where they are seen.
            for severity in [Finding.Severity.warn, .fail] {
                printAll(findings, severity, configuration)
            }
            Console.line("\n" + findings.summary)
        }
        let isFine = findings.allSatisfy { $0.severity != .fail }
        if json { Console.json(["ok": .bool(isFine), "checks": .array(findings.map { .object($0.json) })]) }
        if !isFine { throw ExitCode.failure }
    }

    /// Prints the findings of one severity; findings of many projects with one cause become one.
    private func printAll(_ findings: [Finding], _ severity: Finding.Severity, _ configuration: Configuration) {
        let own = findings.filter { $0.severity == severity }
        for finding in own.joined(projects: configuration.projects.map(\.id)) { Console.line(finding.line) }
    }
}
