internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel
internal import FanfareRedis

/// Shell completions. They never fail and never wait long: without an answer they offer nothing.
enum Completion {
    /// The projects of the configuration that the command line names.
    static let projects = CompletionKind.custom { (words: [String], _: Int, _: String) -> [String] in
        configuration(words)?.projects.map(\.id) ?? []
    }

    /// The names of the keys in `gateway.keys_dir`.
    static let gatewayKeys = CompletionKind.custom { (words: [String], _: Int, _: String) -> [String] in
        let keys = configuration(words)?.gateway.keysFolder.flatMap { try? GatewayKeys.read($0) }
        return keys?.entries.map(\.key.name) ?? []
    }

    /// The ids of up to 100 jobs that are not over.
    static let jobs = ofProject { ((try? await $0.jobs(limit: 100))?.jobs ?? []).map(\.id) }

    /// The ids of the newest entries of `dead`. Each entry holds a whole job, so few are read.
    static let deadEntries = ofProject { ((try? await $0.deadEntries(limit: 25)) ?? []).map(\.id) }

    /// The jobs of these entries.
    static let deadJobs = ofProject { Set(((try? await $0.deadEntries(limit: 25)) ?? []).map(\.job)).sorted() }

    /// Words that are read from the project in Redis. A word that stands on the line already is not offered again.
    private static func ofProject(
        _ read: @escaping @Sendable (FanfareOperator<RedisClient>) async -> [String]
    ) -> CompletionKind {
        .custom { (words: [String], _: Int, _: String) async -> [String] in
            await inProject(words, read).filter { !words.contains($0) }
        }
    }

    private static func inProject(
        _ words: [String],
        _ read: (FanfareOperator<RedisClient>) async -> [String]
    ) async -> [String] {
        guard let configuration = configuration(words) else { return [] }
        let only = configuration.projects.count == 1 ? configuration.projects[0].id : nil
        guard let project = value(["--project"], in: words) ?? only, ProjectID.isValid(project),
            let deployment = try? configuration.deployment(),
            let client = try? await RedisSession.connect(deployment, configuration)
        else { return [] }
        defer { client.close() }
        return await read(FanfareOperator(redis: client, project: project, prefix: configuration.prefix))
    }

    private static func configuration(_ words: [String]) -> Configuration? {
        var options = ConfigurationOptions()
        options.config = value(["-c", "--config"], in: words)
        options.redis = value(["--redis"], in: words)
        options.prefix = value(["--prefix"], in: words)
        return try? options.load()
    }

    /// The value of an option on an unfinished command line: `--name value` or `--name=value`.
    static func value(_ names: [String], in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if names.contains(word), index + 1 < words.count { return words[index + 1] }
            for name in names where word.hasPrefix(name + "=") { return String(word.dropFirst(name.count + 1)) }
        }
        return nil
    }
}
