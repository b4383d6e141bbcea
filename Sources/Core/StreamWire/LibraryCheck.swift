extension FunctionLibrary {
    /// Asks for keys of the wrong type and for commands that this user may not run. Writes nothing.
    public static func check(_ keys: ProjectKeys) -> RedisCommand { call("check", keys) }

    /// Ends jobs whose recipients all have a result while the job counts some as open. Checks about `most` open jobs.
    ///
    /// - Parameter cursor: "0" to begin, else the cursor of the previous reply.
    public static func repair(_ keys: ProjectKeys, cursor: String, most: Int) -> RedisCommand {
        call("repair", keys, [cursor, String(most)])
    }
}

/// A fault that stops the library's functions: a key of the wrong type, or a missing right.
public enum RedisObstacle: Hashable, Sendable {
    /// A key holds another type than the library keeps there.
    case type(key: String, found: String, needed: String)
    /// The user may not run a command on the project's keys.
    case command(name: String, key: String)

    /// Parses the reply of `check`; nil when it is malformed.
    public static func parse(_ value: RedisValue) -> [RedisObstacle]? {
        guard let words = value.array?.map({ $0.string ?? "" }), words.count % 4 == 0 else { return nil }
        var obstacles: [RedisObstacle] = []
        for at in stride(from: 0, to: words.count, by: 4) {
            switch words[at] {
            case "type": obstacles.append(.type(key: words[at + 1], found: words[at + 2], needed: words[at + 3]))
            case "command": obstacles.append(.command(name: words[at + 1], key: words[at + 2]))
            default: return nil
            }
        }
        return obstacles
    }
}

/// Jobs that `repair` has ended.
public struct RepairReply: Equatable, Sendable {
    /// The cursor for the next call; "0" when all open jobs were checked.
    public var cursor: String
    public var jobs: [Repaired]

    public struct Repaired: Equatable, Sendable {
        public var id: String
        /// Recipients that had their result and were in no counter; they are counted as `unknown`.
        public var uncounted: Int

        public init(id: String, uncounted: Int) {
            self.id = id
            self.uncounted = uncounted
        }
    }

    public init?(_ value: RedisValue) {
        guard let words = value.array?.map({ $0.string ?? "" }), let cursor = words.first, words.count % 2 == 1 else {
            return nil
        }
        self.cursor = cursor
        jobs = stride(from: 1, to: words.count, by: 2).map {
            Repaired(id: words[$0], uncounted: Int(words[$0 + 1]) ?? 0)
        }
    }
}
