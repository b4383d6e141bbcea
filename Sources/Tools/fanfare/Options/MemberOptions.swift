internal import ArgumentParser

/// The tokens that a topic or a device group is changed for.
struct MemberOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A registration token; may be repeated.", valueName: "token"))
    var token: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file of tokens, one a line; - reads standard input. At most \(TokensFile.inlineLimit) tokens a job.",
            valueName: "file"
        ),
        completion: Completion.files
    )
    var tokensFile: String?

    func check() throws {
        guard token.isEmpty != (tokensFile == nil) else {
            throw ValidationError("give the tokens once: with --token or with --tokens-file")
        }
    }

    func tokens() throws -> [String] { try tokensFile.map { try TokensFile.read($0) } ?? token }
}
