internal import ArgumentParser
internal import FanfareModel

/// The target of a job: exactly one of these options.
struct TargetOptions: ParsableArguments {
    @Option(help: .value("token", "A registration token; may be repeated."))
    var token: [String] = []

    @Option(help: .value("fid", "A Firebase installation id; may be repeated."))
    var fid: [String] = []

    @Option(
        help: .value("file", "A file of tokens, one per line; - reads standard input."),
        completion: .file()
    )
    var tokensFile: String?

    @Option(help: .value("name", "A topic's name."))
    var topic: String?

    @Option(help: .value("text", "A topic condition: \"'a' in topics && 'b' in topics\"."))
    var condition: String?

    @Option(help: .value("key", "A device group's notification_key."))
    var group: String?

    @Option(help: .value("key", "A Redis LIST or SET of tokens, with {project} in its name."))
    var audience: String?

    var readsStandardInput: Bool { tokensFile == "-" }

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        let given = [
            !token.isEmpty, !fid.isEmpty, tokensFile != nil, topic != nil, condition != nil, group != nil,
            audience != nil,
        ]
        guard given.filter({ $0 }).count == 1 else {
            throw ValidationError(
                "give exactly one target: --token, --fid, --tokens-file, --topic, --condition, --group or --audience"
            )
        }
    }

    /// The target.
    /// - Parameters:
    ///   - file: the tokens of `--tokens-file`.
    ///   - key: the list for the tokens of a long file.
    func target(_ file: TokensFile?, key: String) -> Target {
        if let file { return file.target(key: key) }
        if let topic { return .topic(topic) }
        if let condition { return .condition(condition) }
        if let group { return .group(group) }
        if let audience { return .audience(key: audience) }
        return token.isEmpty ? .fids(fid) : .tokens(token)
    }
}
