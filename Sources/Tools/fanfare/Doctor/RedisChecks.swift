internal import FanfareConfiguration
internal import RedisTransport
internal import StreamWire

extension Check {
    static let redisReach = Check { subject in
        guard let error = subject.redisError else {
            return [.ok("redis", "\(subject.redisName) answers")]
        }
        let remedy: String
        switch error.code {
        case .noAuth, .wrongPass: remedy = "put the user and password into redis.url (FANFARE_REDIS_URL)"
        case .noPerm: remedy = "give this Redis user the commands that the message names"
        case .tls: remedy = "check redis.url's host name, tls.ca_file, redis.cert_file and redis.key_file"
        case .loading: remedy = "wait until Redis has loaded its data"
        case .misconf: remedy = "Redis cannot write to its disk; free space or repair it, see its log"
        case .nameResolution: remedy = "check the host name in redis.url"
        default: remedy = "start Redis, or give its address with --redis or FANFARE_REDIS_URL"
        }
        return [.fail("redis", "\(subject.redisName): \(error)", remedy)]
    }

    static let redisVersion = Check.server { facts, _ in
        let name = "redis version"
        guard let version = facts.version else {
            return [.warn(name, "the server does not report it", "make sure that it is 7.0 or later")]
        }
        let text = facts.info["redis_version"] ?? ""
        if version.major < 7 { return [.fail(name, "\(text): functions need 7.0", "upgrade to 7.0 or later")] }
        return [.ok(name, facts.info["valkey_version"].map { "\(text), as Valkey \($0)" } ?? text)]
    }

    static let redisRole = Check.server { facts, configuration in
        let name = "redis role"
        if facts.info["cluster_enabled"] == "1", !configuration.redis.url.value.lowercased().contains("-cluster://") {
            return [.fail(name, "a node of a cluster", "begin redis.url with redis-cluster://")]
        }
        if facts.info["role"] == "slave" {
            let primary = "\(facts.info["master_host"] ?? "?"):\(facts.info["master_port"] ?? "?")"
            return [.fail(name, "a replica of \(primary), which takes no writes", "let redis.url name the primary")]
        }
        if facts.info["loading"] == "1" {
            return [.fail(name, "still loading its data", "wait until Redis has loaded it")]
        }
        return [.ok(name, facts.info["cluster_enabled"] == "1" ? "primary of a cluster" : "primary")]
    }

    static let functions = Check.server { facts, _ in
        let name = "functions"
        switch facts.functions {
        case .same: return [.ok(name, "loaded, the same as in this program")]
        case .different:
            return [
                .warn(
                    name,
                    "loaded, but different from this program's",
                    "if this program is newer, run `fanfare functions load`, or start one of its workers"
                )
            ]
        case .missing:
            return [
                .warn(
                    name,
                    "not loaded",
                    "a worker loads them when it starts, if its user may; otherwise run `fanfare functions load` as one that may"
                )
            ]
        case .unknown(let reason):
            return [.warn(name, "unknown: \(reason)", "allow FUNCTION LIST, or run this as a user that may")]
        }
    }

    static let clock = Check.server { facts, _ in
        let name = "clock"
        let skew = facts.skewMs.magnitude, error = facts.skewErrorMs.magnitude
        let side = facts.skewMs < 0 ? "behind" : "ahead of"
        let text = "Redis is \(skew) ms \(side) this machine (within \(error) ms)"
        // Google refuses requests for access tokens when this machine's clock is minutes off.
        if skew > 60_000 + error { return [.fail(name, text, "synchronise both clocks (NTP)")] }
        if skew > 1_000 + error { return [.warn(name, text, "synchronise both clocks (NTP)")] }
        return [.ok(name, text)]
    }
}
