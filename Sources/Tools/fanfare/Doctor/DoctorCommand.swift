internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareJSON
internal import RedisTransport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks Redis, credentials and the route to FCM; prints one verdict and fix per check.",
        discussion: """
            A verdict is ok, warn or FAIL. Changes nothing. Exits with 1 if any verdict is FAIL; warnings leave it at 0. \
            Facts that the Redis user may not read (CONFIG GET, FUNCTION LIST) are reported as unknown.

            --online also gets an access token, and has FCM validate a message without delivering it. It needs the \
            credentials, so run it as the workers' user. It also scans Redis for jobs of projects that have no worker.

            Examples:
              fanfare doctor -c fanfare.yaml
              fanfare doctor -c fanfare.yaml --online
              fanfare doctor --redis redis://127.0.0.1:6379/0 --json | jq -r '.checks[] | select(.verdict != "ok").text'
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Also check the credentials, the route to FCM, and all projects in Redis.")
    var online = false

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
            if online { subject.redis?.unknownProjects = try await probe.unknownProjects() }
        } catch {
            subject.redisError = error
        }
        var findings: [Finding] = []
        for check in Check.all {
            let new = await check.examine(subject)
            if !json { for finding in new { Console.line(finding.line) } }
            findings += new
        }
        let isFine = findings.allSatisfy { $0.severity != .fail }
        if json { Console.json(["ok": .bool(isFine), "checks": .array(findings.map { .object($0.json) })]) }
        if !isFine { throw ExitCode.failure }
    }
}
