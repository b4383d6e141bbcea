internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareJSON
internal import RedisTransport

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks at what Fanfare runs on, and says what is wrong and what to do.",
        discussion: """
            One verdict each: ok, warn or FAIL, with a remedy. Changes nothing. Ends with 1 if anything is FAIL; warnings \
            leave it at 0. What Redis' user may not ask (CONFIG GET, FUNCTION LIST) is said to be unknown.

            --online also asks the token endpoint for a token, and FCM to check a message without delivering it to \
            anybody. It needs the credentials, so run it as the workers' user. And it looks through Redis for jobs of \
            projects that nobody works for.

            Examples:
              fanfare doctor -c fanfare.yaml
              fanfare doctor -c fanfare.yaml --online
              fanfare doctor --redis redis://127.0.0.1:6379/0 --json | jq -r '.checks[] | select(.verdict != "ok").text'
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Also try the credentials and the way to FCM.")
    var online = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        let deployment = try RedisSession.deployment(configuration)
        var subject = Check.Subject(configuration: configuration, redisName: "\(deployment)")
        subject.deployment = deployment
        subject.ignoredVariables = ProcessProtection.ignored
        subject.isOnline = online
        do throws(RedisError) {
            let client = try await RedisSession.connect(deployment, configuration)
            defer { client.close() }
            let isCluster = deployment.form == .cluster
            var probe = RedisProbe(client: client, isCluster: isCluster, configuration: configuration)
            probe.scansForUnknownProjects = online
            subject.redis = try await probe.facts()
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
        if json {
            let object: JSONObject = [
                "ok": .bool(isFine), "checks": .array(findings.map { .object($0.json) }),
            ]
            Console.line(JSONValue.object(object).jsonText)
        }
        if !isFine { throw ExitCode(Outcome.failed.rawValue) }
    }
}
