internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareModel
internal import RedisTransport

/// Shell completions. They never fail and never wait long: without an answer they offer nothing.
enum Completion {
    /// The projects of the configuration that the command line names.
    static let projects = CompletionKind.custom { (words: [String], _: Int, _: String) -> [String] in
        configuration(words)?.projects.map(\.id) ?? []
    }

    /// The ids of up to 100 jobs that are not over.
    static let jobs = CompletionKind.custom { (words: [String], _: Int, _: String) async -> [String] in
        guard let configuration = configuration(words) else { return [] }
        let only = configuration.projects.count == 1 ? configuration.projects[0].id : nil
        guard let project = value(["--project"], in: words) ?? only, ProjectID.isValid(project),
            let deployment = try? configuration.deployment(),
            let client = try? await RedisSession.connect(deployment, configuration)
        else { return [] }
        defer { client.close() }
        let projectOperator = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
        return ((try? await projectOperator.jobs(limit: 100))?.jobs ?? []).map(\.id)
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
