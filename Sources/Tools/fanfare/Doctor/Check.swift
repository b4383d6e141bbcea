internal import FanfareConfiguration
internal import RedisTransport

/// One thing that the doctor looks at. A new one is a file with an `extension Check`, and a line in ``all``.
struct Check: Sendable {
    /// What there is to look at.
    struct Subject: Sendable {
        var configuration: Configuration
        /// Redis without its password, for messages.
        var redisName: String
        /// nil when nobody could be asked.
        var redis: RedisFacts?
        var redisError: RedisError?
        var deployment: RedisDeployment?
        /// Names of variables that are set and that nothing here obeys.
        var ignoredVariables: [String] = []
        /// Also ask Google, and whoever else the configuration names.
        var isOnline = false
    }

    /// Gives no finding where there is nothing to look at.
    let examine: @Sendable (Subject) async -> [Finding]

    init(_ examine: @escaping @Sendable (Subject) async -> [Finding]) { self.examine = examine }

    /// A check that needs Redis: without it, one finding says so and the others keep silent.
    static func redis(_ examine: @escaping @Sendable (RedisFacts, Configuration) -> [Finding]) -> Check {
        Check { subject in subject.redis.map { examine($0, subject.configuration) } ?? [] }
    }

    /// A check of one server. In a cluster all primaries are looked at that have a configured project; where they are not
    /// alike, each that is not well is named.
    static func server(_ examine: @escaping @Sendable (RedisFacts, Configuration) -> [Finding]) -> Check {
        .redis { facts, configuration in
            let first = examine(facts, configuration)
            let all = facts.primaries.map { (name: $0.name, findings: examine($0.facts, configuration)) }
            func judged(_ findings: [Finding]) -> [String] { findings.map { "\($0.severity) \($0.remedy ?? "")" } }
            guard all.contains(where: { judged($0.findings) != judged(first) }) else { return first }
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

    /// In the order of the report.
    static let all: [Check] = [
        redisReach, redisVersion, redisRole, access, functions, persistence, durability, evictionPolicy, memory,
        replicas, clock, workers, projectStates, unknownProjects, quotas, files, libraries, descriptors, environment,
        online,
    ]
}
