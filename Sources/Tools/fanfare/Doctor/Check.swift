internal import CurlTransport
internal import FanfareConfiguration
internal import RedisTransport

/// A check of the doctor. To add one, extend `Check` in a file and list it in ``all``.
struct Check: Sendable {
    /// The facts that checks examine.
    struct Subject: Sendable {
        var configuration: Configuration
        var deployment: RedisDeployment
        /// nil if Redis could not be reached.
        var redis: RedisFacts?
        var redisError: RedisError?
        var curl = CurlLibrary.current
        /// Maximum number of open files; nil if unknown.
        var fileLimit = Self.currentFileLimit
        /// Names of variables that are set and that Fanfare ignores.
        var ignoredVariables: [String] = []
        /// Connect to FCM and to the token endpoint too.
        var isOnline = false
    }

    typealias RedisRule = @Sendable (RedisFacts, Configuration, inout Report) -> Void

    /// The name of its findings, unless the rule changes it.
    private let name: String
    private let rule: @Sendable (Subject, inout Report) async -> Void

    /// - Parameter rule: adds no finding if the check does not apply.
    init(_ name: String, _ rule: @escaping @Sendable (Subject, inout Report) async -> Void) {
        self.name = name
        self.rule = rule
    }

    /// A check that needs Redis; without Redis it finds nothing, since ``redisReach`` reports that.
    static func redis(_ name: String, _ rule: @escaping RedisRule) -> Check {
        Check(name) { subject, report in
            if let facts = subject.redis { rule(facts, subject.configuration, &report) }
        }
    }

    /// A check of a server. In a cluster it examines each primary that has a configured project. If their findings differ,
    /// each finding that is not ok names its primary.
    static func server(_ name: String, _ rule: @escaping RedisRule) -> Check {
        .redis(name) { facts, configuration, report in
            func findings(_ facts: RedisFacts) -> [Finding] {
                var report = Report(name)
                rule(facts, configuration, &report)
                return report.findings
            }
            func signature(_ findings: [Finding]) -> [String] { findings.map { "\($0.severity) \($0.remedy ?? "")" } }
            let first = findings(facts)
            let all = facts.primaries.map { (name: $0.name, findings: findings($0.facts)) }
            if all.contains(where: { signature($0.findings) != signature(first) }) {
                for (name, findings) in all {
                    for finding in findings where finding.severity != .ok {
                        report.add(finding.severity, "\(name): \(finding.text)", finding.remedy)
                    }
                }
            }
            if report.isEmpty { report.findings = first }
        }
    }

    func examine(_ subject: Subject) async -> [Finding] {
        var report = Report(name)
        await rule(subject, &report)
        return report.findings
    }

    /// All checks, in the order of the report.
    static let all: [Check] = [
        redisReach, redisVersion, redisRole, access, functions, persistence, durability, evictionPolicy, memory,
        replicas, clock, workers, projectStates, unknownProjects, quotas, files, gateway, engines, libraries,
        descriptors, environment, online,
    ]
}
