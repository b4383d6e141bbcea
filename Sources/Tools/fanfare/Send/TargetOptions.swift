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

    @Option(
        help: .value(
            "file",
            "Recipients with values for a personal job: NDJSON, or CSV whose header names token (or fid), variant and values; - reads standard input."
        ),
        completion: .file()
    )
    var recipientsFile: String?

    @Option(
        help: .value(
            "file",
            "Variants of the message by name (JSON), only with --recipients-file; - reads standard input."
        ),
        completion: .file()
    )
    var variants: String?

    @Option(help: .value("name", "A topic's name."))
    var topic: String?

    @Option(help: .value("text", "A topic condition: \"'a' in topics && 'b' in topics\"."))
    var condition: String?

    @Option(help: .value("key", "A device group's notification_key."))
    var group: String?

    @Option(help: .value("key", "A Redis LIST or SET of tokens, with {project} in its name."))
    var audience: String?

    /// The options that read standard input.
    var standardInputs: [String] {
        [("--tokens-file", tokensFile), ("--recipients-file", recipientsFile), ("--variants", variants)]
            .filter { $0.1 == "-" }.map(\.0)
    }

    /// A larger file is refused; a worker refuses more than 1 MiB of variants.
    private static let maximumBytes = 4 << 20

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        let given = [
            !token.isEmpty, !fid.isEmpty, tokensFile != nil, recipientsFile != nil, topic != nil, condition != nil,
            group != nil,
            audience != nil,
        ]
        guard given.filter({ $0 }).count == 1 else {
            throw ValidationError(
                "give exactly one target: --token, --fid, --tokens-file, --recipients-file, --topic, --condition, --group or --audience"
            )
        }
        guard variants == nil || recipientsFile != nil else {
            throw ValidationError("--variants: only with --recipients-file, whose rows name a variant")
        }
    }

    /// The file of `--variants`; nil without it.
    func readVariants() throws -> InputText? {
        try variants.map { try InputText.read($0, option: "--variants", limit: Self.maximumBytes) }
    }

    /// The target.
    /// - Parameters:
    ///   - file: the tokens of `--tokens-file`.
    ///   - key: the list for the recipients of a long file. It is also the target of a file of recipients that is not read
    ///     yet.
    func target(_ file: TokensFile?, key: String) -> Target {
        if let file { return file.target(key: key) }
        if recipientsFile != nil { return .audience(key: key) }
        if let topic { return .topic(topic) }
        if let condition { return .condition(condition) }
        if let group { return .group(group) }
        if let audience { return .audience(key: audience) }
        return token.isEmpty ? .fids(fid) : .tokens(token)
    }
}
