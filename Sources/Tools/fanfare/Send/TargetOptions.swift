internal import ArgumentParser
internal import FanfareModel
internal import Foundation
internal import RedisTransport
internal import StreamWire

/// The target of a job: exactly one of these options.
struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A registration token; may be repeated.", valueName: "token"))
    var token: [String] = []

    @Option(help: ArgumentHelp("A Firebase installation id; may be repeated.", valueName: "fid"))
    var fid: [String] = []

    @Option(
        help: ArgumentHelp("A file of tokens, one per line; - reads standard input.", valueName: "file"),
        completion: Completion.files
    )
    var tokensFile: String?

    @Option(help: ArgumentHelp("A topic's name.", valueName: "name"))
    var topic: String?

    @Option(help: ArgumentHelp("A topic condition: \"'a' in topics && 'b' in topics\".", valueName: "text"))
    var condition: String?

    @Option(help: ArgumentHelp("A device group's notification_key.", valueName: "key"))
    var group: String?

    @Option(help: ArgumentHelp("A Redis LIST or SET of tokens, with {project} in its name.", valueName: "key"))
    var audience: String?

    var readsStandardInput: Bool { tokensFile == "-" }

    func check() throws {
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

    /// The target, after writing the tokens of a long file to a list in Redis.
    /// - Parameter notBefore: the start of the job; the list must outlive it.
    func resolve(_ client: RedisClient, _ keys: ProjectKeys, notBefore: TimeArgument?) async throws -> Target {
        if let tokensFile {
            return try await TokensFile(path: tokensFile, client: client, keys: keys, notBefore: notBefore).load()
        }
        if let topic { return .topic(topic) }
        if let condition { return .condition(condition) }
        if let group { return .group(group) }
        if let audience { return .audience(key: audience) }
        return token.isEmpty ? .fids(fid) : .tokens(token)
    }
}
