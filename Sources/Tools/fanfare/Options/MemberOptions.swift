internal import ArgumentParser

/// The tokens to add to or remove from a topic or a device group.
struct MemberOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A registration token; may be repeated.", valueName: "token"))
    var token: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file of tokens, one per line; - reads standard input. At most \(TokensFile.inlineLimit) tokens per job.",
            valueName: "file"
        ),
        completion: Completion.files
    )
    var tokensFile: String?

    func check() throws {
        guard token.isEmpty != (tokensFile == nil) else {
            throw ValidationError("give tokens with either --token or --tokens-file")
        }
    }

    func tokens() throws -> [String] { try tokensFile.map { try TokensFile.read($0) } ?? token }
}
