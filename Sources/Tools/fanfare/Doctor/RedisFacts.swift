internal import FanfareClient
internal import StreamWire

/// What a Redis server says of itself.
struct RedisFacts: Sendable {
    enum Functions: Equatable, Sendable {
        case same
        /// Another text under the same name: of an older or a newer program.
        case different
        case missing
        /// Why it could not be asked.
        case unknown(String)
    }

    /// One of a cluster's servers.
    struct Primary: Sendable {
        var name: String
        var facts: RedisFacts
    }

    /// A project that somebody pushed to and that this configuration does not name.
    struct UnknownProject: Sendable {
        var id: String
        /// Entries of its `jobs`.
        var jobs: Int64
    }

    /// The lines of INFO.
    var info: [String: String] = [:]
    /// What CONFIG GET gave; empty where that is not allowed.
    var settings: [String: String] = [:]
    var functions = Functions.unknown("not asked")
    /// Redis' clock minus this machine's, in milliseconds.
    var skewMs: Int64 = 0
    /// How much of that may be the way there and back.
    var skewErrorMs: Int64 = 0
    /// Of a cluster, the primaries that have the configured projects, or all where there are none; the first is the one
    /// that everything else is about. Empty where one server has everything.
    var primaries: [Primary] = []
    /// The configured projects, as far as the functions could be asked.
    var projects: [ProjectSnapshot] = []
    /// Projects whose active fan-out got no further between two looks, and the fan-out.
    var stuck: [String: String] = [:]
    /// Looked for with `--online` only; without those that workers are alive for.
    var unknownProjects: [UnknownProject] = []
    /// What this Redis user may not do, in the server's words; nil when everything that was tried went well.
    var refusal: String?
    /// The user that is signed in as; nil when it may not be asked.
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

    /// Reads CONFIG GET: names and values in turn.
    static func settings(_ value: RedisValue) -> [String: String] {
        guard let flat = value.array, flat.count.isMultiple(of: 2) else { return [:] }
        var settings: [String: String] = [:]
        for index in stride(from: 0, to: flat.count, by: 2) {
            settings[flat[index].string ?? ""] = flat[index + 1].string
        }
        return settings
    }

    /// Reads `FUNCTION LIST ... WITHCODE`.
    static func functions(_ value: RedisValue, source: [UInt8]) -> Functions {
        guard let libraries = value.array else { return .unknown("FUNCTION LIST gave an unknown answer") }
        guard let library = libraries.first?.array else { return .missing }
        for index in stride(from: 0, to: library.count - 1, by: 2) where library[index].string == "library_code" {
            return library[index + 1].bytes == source ? .same : .different
        }
        return .unknown("FUNCTION LIST gave no code")
    }

    func number(_ name: String) -> Int64? { info[name].flatMap { Int64($0) } }

    /// The largest part of 7.0.15 that tells versions apart; nil when it says none.
    var version: (major: Int, minor: Int)? {
        let parts = (info["redis_version"] ?? "").split(separator: ".").map { Int($0) }
        guard let major = parts.first ?? nil else { return nil }
        return (major, (parts.count > 1 ? parts[1] : nil) ?? 0)
    }

    /// `always`, `everysec`, `no`; nil when it may not be asked.
    var appendFsync: String? { settings["appendfsync"] }
    var keepsAppendOnlyFile: Bool { info["aof_enabled"] == "1" }

    /// Replicas that a write needs; nil when it may not be asked and INFO does not tell.
    var minReplicas: Int64? {
        settings["min-replicas-to-write"].flatMap { Int64($0) } ?? (info["min_slaves_good_slaves"] == nil ? nil : 1)
    }

    /// Replicas whose link is up.
    var onlineReplicas: Int {
        info.filter { name, value in
            name.hasPrefix("slave") && name.dropFirst(5).allSatisfy(\.isNumber) && value.contains("state=online")
        }.count
    }

    /// The seconds since the slowest of them was heard of.
    var replicaLag: Int64 {
        info.filter { name, value in name.hasPrefix("slave") && value.contains("state=online") }
            .flatMap { $0.value.split(separator: ",") }.filter { $0.hasPrefix("lag=") }
            .compactMap { Int64($0.dropFirst(4)) }.max() ?? 0
    }
}
