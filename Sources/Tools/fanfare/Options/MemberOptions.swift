internal import ArgumentParser

/// The tokens to add to or remove from a topic or a device group.
struct MemberOptions: ParsableArguments {
    @Option(help: .value("token", "A registration token; may be repeated."))
    var token: [String] = []

    @Option(
        help: .value(
            "file",
            "A file of tokens, one per line; - reads standard input. At most \(TokensFile.inlineLimit) tokens per job."
        ),
        completion: .file()
    )
    var tokensFile: String?

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard token.isEmpty != (tokensFile == nil) else {
            throw ValidationError("give tokens with either --token or --tokens-file")
        }
    }

    /// - Parameter checks: refuses a file with a line that is no token.
    func tokens(checks: Bool) throws -> [String] {
        try tokensFile.map { try TokensFile.read($0, checks: checks) } ?? token
    }
}
