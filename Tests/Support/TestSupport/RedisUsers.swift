internal import Foundation

/// The users of `ops/redis/fanfare.acl`, enabled for a test. Each user's password is its name.
public struct RedisUsers: Sendable {
    public let folder: TemporaryFolder
    /// Path for `--aclfile`. The default user, which the test itself uses, has all rights.
    public let file: String
    /// The ACL rules of each user, by name.
    public let rules: [String: [String]]

    /// - Parameter others: additional users, as lines of an ACL file.
    public init(and others: [String] = []) throws {
        folder = try TemporaryFolder()
        let root = Repository.root
        let text = try String(contentsOf: root.appendingPathComponent("ops/redis/fanfare.acl"), encoding: .utf8)
        var rules: [String: [String]] = [:]
        var lines: [String] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 3, words[0] == "user", words[2] == "off" else {
                throw TestFailure("fanfare.acl: expected a line 'user NAME off RULES': \(line.prefix(60))")
            }
            rules[words[1]] = Array(words[3...])
            lines.append((["user", words[1], "on", ">\(words[1])"] + words[3...]).joined(separator: " "))
        }
        self.rules = rules
        file = try folder.write("users.acl", (lines + others).joined(separator: "\n") + "\n")
    }
}
