internal import ArgumentParser
internal import FanfareConfiguration

/// Finds the command that a mistyped one was probably meant to be.
enum CommandHint {
    /// - Parameter arguments: a command line that the argument parser refused.
    /// - Returns: such as `fanfare job ls`; nil if every command of the line exists, or none is similar.
    static func find(_ arguments: [String]) -> String? {
        var path = ["fanfare"]
        var commands = Fanfare.configuration.subcommands.map { $0.configuration }
        for word in arguments where !commands.isEmpty {
            if let command = commands.first(where: { $0.commandName == word || $0.aliases.contains(word) }) {
                path.append(word)
                commands = command.subcommands.map { $0.configuration }
            } else {
                // An option, or a word too long to be a name, has no similar command.
                guard !word.hasPrefix("-"), word.utf8.count <= 32 else { return nil }
                // A slip must not lead to a command that changes every job.
                let names = commands.compactMap(\.commandName).filter {
                    path.count > 1 || !["pause", "resume"].contains($0)
                }
                return NearestKey.find(word, among: names).map { (path + [$0]).joined(separator: " ") }
            }
        }
        return nil
    }

    /// The parser's message with the hint at the end of its first line.
    static func added(_ hint: String, to message: String) -> String {
        var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lines[0] += "; did you mean `\(hint)`?"
        return lines.joined(separator: "\n")
    }
}
