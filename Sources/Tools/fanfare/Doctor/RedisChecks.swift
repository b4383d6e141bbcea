internal import FanfareConfiguration
internal import RedisTransport

extension Check {
    static let redisReach = Check("redis") { subject, report in
        guard let error = subject.redisError else { return report.ok("\(subject.deployment) answers") }
        let remedy =
            switch error.code {
            case .noAuth, .wrongPass: "put the user and password into redis.url (FANFARE_REDIS_URL)"
            case .noPerm: "give this Redis user the commands that the message names"
            case .tls: "check redis.url's host name, tls.ca_file, redis.cert_file and redis.key_file"
            case .loading: "wait until Redis has loaded its data"
            case .misconf: "Redis cannot write to its disk; free space or repair it, see its log"
            case .nameResolution: "check the host name in redis.url"
            default: "start Redis, or give its address with --redis or FANFARE_REDIS_URL"
            }
        report.fail("\(subject.deployment): \(error)", remedy)
    }

    static let redisVersion = Check.server("redis version") { facts, _, report in
        guard let version = facts.info["redis_version"], let major = Int(version.prefix { $0 != "." }) else {
            return report.warn("the server does not report it", "make sure that it is 7.0 or later")
        }
        if major < 7 { return report.fail("\(version): functions need 7.0", "upgrade to 7.0 or later") }
        report.ok(facts.info["valkey_version"].map { "\(version), as Valkey \($0)" } ?? version)
    }

    static let redisRole = Check.server("redis role") { facts, configuration, report in
        let isClusterNode = facts.info["cluster_enabled"] == "1"
        if isClusterNode, !configuration.redis.url.value.lowercased().contains("-cluster://") {
            return report.fail("a node of a cluster", "begin redis.url with redis-cluster://")
        }
        if facts.info["role"] == "slave" {
            let primary = "\(facts.info["master_host"] ?? "?"):\(facts.info["master_port"] ?? "?")"
            return report.fail("a replica of \(primary), which takes no writes", "let redis.url name the primary")
        }
        if facts.info["loading"] == "1" {
            return report.fail("still loading its data", "wait until Redis has loaded it")
        }
        report.ok(isClusterNode ? "primary of a cluster" : "primary")
    }

    static let functions = Check.server("functions") { facts, _, report in
        switch facts.functions {
        case .same: report.ok("loaded, the same as in this program")
        case .different:
            let remedy = "if this program is newer, run `fanfare functions load`, or start one of its workers"
            report.warn("loaded, but different from this program's", remedy)
        case .missing:
            let remedy =
                "a worker loads them when it starts, if its user may; "
                + "otherwise run `fanfare functions load` as one that may"
            report.warn("not loaded", remedy)
        case .unknown(let reason):
            report.warn("unknown: \(reason)", "allow FUNCTION LIST, or run this as a user that may")
        }
    }

    static let clock = Check.server("clock") { facts, _, report in
        let skew = facts.skewMs.magnitude, error = facts.skewErrorMs.magnitude
        let side = facts.skewMs < 0 ? "behind" : "ahead of"
        let text = "Redis is \(skew) ms \(side) this machine (within \(error) ms)"
        let remedy = "synchronise both clocks (NTP)"
        // Google refuses requests for access tokens when this machine's clock is minutes off.
        if skew > 60_000 + error { return report.fail(text, remedy) }
        if skew > 1_000 + error { return report.warn(text, remedy) }
        report.ok(text)
    }
}
