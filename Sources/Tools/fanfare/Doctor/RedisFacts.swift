internal import FanfareClient
internal import StreamWire

/// Facts that the doctor read from a Redis server.
struct RedisFacts: Sendable {
    enum Functions: Equatable, Sendable {
        case same
        /// The library has another text: it is an older or a newer program's.
        case different
        case missing
        /// Why the library could not be read.
        case unknown(String)
    }

    /// The fields of INFO.
    var info: [String: String] = [:]
    /// The answer of CONFIG GET; empty if it is not permitted.
    var settings: [String: String] = [:]
    var functions = Functions.unknown("not asked")
    /// Redis' clock minus this machine's, in milliseconds.
    var skewMs: Int64 = 0
    /// The possible error of ``skewMs``: half the round trip.
    var skewErrorMs: Int64 = 0
    /// The primaries of a cluster that have the configured projects, or all if no project is configured. The other
    /// facts are of the first primary. Empty without a cluster.
    var primaries: [(name: String, facts: RedisFacts)] = []
    /// The configured projects, as far as they could be read.
    var projects: [ProjectSnapshot] = []
    /// Fan-outs that made no progress between two readings, by project.
    var stuck: [String: String] = [:]
    /// Projects that the configuration does not name and no live worker serves, and their numbers of pushed jobs. Only
    /// without `--no-online`.
    var unknownProjects: [(id: String, jobs: Int64)] = []
    /// The server's error for a command that this Redis user may not run; nil if none was refused.
    var accessError: String?
    /// The server's error for a command of the gateway that this Redis user may not run; nil if none was refused.
    var gatewayRefusal: String?
    /// The name of the signed-in ACL user; nil if ACL WHOAMI is not permitted.
    var user: String?

    /// Reads INFO: `name:value` lines between comments.
    static func info(_ text: String) -> [String: String] {
        var info: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            info[String(line[..<colon])] = String(line[line.index(after: colon)...])
        }
        return info
    }

    /// Reads `FUNCTION LIST ... WITHCODE`.
    static func functions(_ value: RedisValue, source: [UInt8]) -> Functions {
        guard let libraries = value.array else { return .unknown("FUNCTION LIST answered with an unknown reply") }
        guard let library = libraries.first else { return .missing }
        guard let code = NamedValues(library)?["library_code"]?.bytes else {
            return .unknown("FUNCTION LIST answered without code")
        }
        return code == source ? .same : .different
    }

    func number(_ name: String) -> Int64? { info[name].flatMap { Int64($0) } }

    /// `always`, `everysec` or `no`; nil if CONFIG GET is not permitted.
    var appendFsync: String? { settings["appendfsync"] }
    var keepsAppendOnlyFile: Bool { info["aof_enabled"] == "1" }

    /// Replicas that a write needs; nil if neither CONFIG GET nor INFO shows it.
    var minReplicas: Int64? {
        settings["min-replicas-to-write"].flatMap { Int64($0) } ?? (info["min_slaves_good_slaves"] == nil ? nil : 1)
    }

    /// INFO's lines of the replicas whose link is up.
    private var onlineLinks: [String] {
        info.filter { name, value in
            name.hasPrefix("slave") && name.dropFirst(5).allSatisfy(\.isNumber) && value.contains("state=online")
        }.map(\.value)
    }

    var onlineReplicas: Int { onlineLinks.count }

    /// Seconds since the last sign of the slowest online replica.
    var replicaLag: Int64 {
        onlineLinks.flatMap { $0.split(separator: ",") }.filter { $0.hasPrefix("lag=") }
            .compactMap { Int64($0.dropFirst(4)) }.max() ?? 0
    }
}
