internal import FanfareConfiguration
internal import RedisTransport

/// A check of the doctor. To add one, extend `Check` in a file and list it in ``all``.
struct Check: Sendable {
    /// The facts that checks examine.
    struct Subject: Sendable {
        var configuration: Configuration
        /// The address of Redis without its password.
        var redisName: String
        /// nil if Redis could not be reached.
        var redis: RedisFacts?
        var redisError: RedisError?
        var deployment: RedisDeployment?
        /// Names of variables that are set and that Fanfare ignores.
        var ignoredVariables: [String] = []
        /// Connect to FCM and to the token endpoint too.
        var isOnline = false
    }

    /// Returns no finding if the check does not apply.
    let examine: @Sendable (Subject) async -> [Finding]

    init(_ examine: @escaping @Sendable (Subject) async -> [Finding]) { self.examine = examine }

    /// A check that needs Redis; without Redis it finds nothing, since ``redisReach`` reports that.
    static func redis(_ examine: @escaping @Sendable (RedisFacts, Configuration) -> [Finding]) -> Check {
        Check { subject in subject.redis.map { examine($0, subject.configuration) } ?? [] }
    }

    /// A check of a server. In a cluster it examines each primary that has a configured project. If their findings differ,
    /// each finding that is not ok names its primary.
    static func server(_ examine: @escaping @Sendable (RedisFacts, Configuration) -> [Finding]) -> Check {
        .redis { facts, configuration in
            let first = examine(facts, configuration)
            let all = facts.primaries.map { (name: $0.name, findings: examine($0.facts, configuration)) }
            func signature(_ findings: [Finding]) -> [String] { findings.map { "\($0.severity) \($0.remedy ?? "")" } }
            guard all.contains(where: { signature($0.findings) != signature(first) }) else { return first }
            let concerns = all.flatMap { name, findings in
                findings.filter { $0.severity != .ok }.map { finding in
                    var finding = finding
                    finding.text = "\(name): \(finding.text)"
                    return finding
                }
            }
            return concerns.isEmpty ? first : concerns
        }
    }

    /// All checks, in the order of the report.
    static let all: [Check] = [
        redisReach, redisVersion, redisRole, access, functions, persistence, durability, evictionPolicy, memory,
        replicas, clock, workers, projectStates, unknownProjects, quotas, files, libraries, descriptors, environment,
        online,
    ]
}
