internal import Foundation

/// The users of `ops/redis/fanfare.acl`, switched on for a test: each has its own name as its password.
public struct RedisUsers: Sendable {
    public let folder: TemporaryFolder
    /// For `--aclfile`. The default user may do everything, which is what the test itself signs in as.
    public let file: String
    /// What each user may do, in the words of the file, by the user's name.
    public let rules: [String: [String]]

    /// - Parameter others: further users, as lines of such a file.
    public init(and others: [String] = []) throws {
        folder = try TemporaryFolder()
        let root = Repository.root
        let text = try String(contentsOf: root.appendingPathComponent("ops/redis/fanfare.acl"), encoding: .utf8)
        var rules: [String: [String]] = [:]
        var lines: [String] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 3, words[0] == "user", words[2] == "off" else {
                throw TestFailure("fanfare.acl: not a user who is off: \(line.prefix(60))")
            }
            rules[words[1]] = Array(words[3...])
            lines.append((["user", words[1], "on", ">\(words[1])"] + words[3...]).joined(separator: " "))
        }
        self.rules = rules
        file = try folder.write("users.acl", (lines + others).joined(separator: "\n") + "\n")
    }
}
