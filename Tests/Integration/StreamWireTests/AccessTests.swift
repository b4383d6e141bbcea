import Foundation
import StreamWire
import TestSupport
import Testing

/// `ops/redis/fanfare.acl` against what is really asked of Redis.
@Suite struct AccessTests {
    /// What a version of the library calls, in an ACL's words. Redis holds functions to the rights of their caller.
    private func commandsOfTheLibrary(_ version: LibraryVersion = .current) throws -> Set<String> {
        let text = try version.source()
        var commands: Set<String> = []
        for match in text.matches(of: /(?:call\(|write\(|=\s*\{)\s*'([A-Z]+)'(?:,\s*'([A-Z]+)')?/) {
            let name = match.1.lowercased()
            if ["xgroup", "xinfo"].contains(name) {
                commands.insert("\(name)|\(try #require(match.2).lowercased())")
            } else {
                commands.insert(name)
            }
        }
        return commands
    }

    private func allowed(_ user: String) throws -> Set<String> {
        // A selector in parentheses has rules of its own.
        let rules = try #require(try RedisUsers().rules[user]).map { $0.trimmingCharacters(in: ["(", ")"]) }
        #expect(rules.contains("-@all"), "nothing but what is named")
        #expect(!rules.contains { $0.hasPrefix("+@") || $0 == "allcommands" })
        return Set(rules.filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) })
    }

    private static let connecting: Set<String> = ["ping", "client|setname", "role", "cluster|slots"]

    @Test func workersMayRunTheirCommandsOnly() throws {
        let own: Set<String> = [
            "info", "wait", "fcall", "xgroup|create", "xreadgroup", "xautoclaim", "cluster|countkeysinslot",
        ]
        let needed = try commandsOfTheLibrary().union(own).union(Self.connecting)
        let allowed = try allowed("fanfare-worker")
        // During a rolling upgrade workers of both versions share the user.
        #expect(allowed.subtracting(needed).subtracting(try commandsOfTheLibrary(.one)).sorted() == [])
        #expect(try commandsOfTheLibrary(.one).subtracting(allowed).sorted() == [])
        #expect(needed.subtracting(allowed).sorted() == [])
        #expect(needed.count > 50, "the library was read")
    }

    /// What a worker has the library check is what the library calls.
    @Test func checkAsksForEveryCommandOfTheLibrary() throws {
        let text = String(decoding: FunctionLibrary.source, as: UTF8.self)
        let list = try #require(text.firstMatch(of: /local COMMANDS = \{(.*?) \}\n/.dotMatchesNewlines()))
        var asked: Set<String> = []
        for match in String(list.1).matches(of: /'([A-Z]+)(?: ([A-Z]+))?[ ']/) {
            asked.insert(([match.1] + (match.2.map { [$0] } ?? [])).joined(separator: "|").lowercased())
        }
        #expect(try asked.symmetricDifference(commandsOfTheLibrary()).sorted() == [])
    }

    /// A gateway reads and changes jobs for keys with the rights read and operate.
    @Test(arguments: ["fanfare-operator", "fanfare-gateway"]) func operatorsMayCallTheLibrary(user: String) throws {
        let missing = try commandsOfTheLibrary().union(Self.connecting).subtracting(allowed(user))
        #expect(missing.sorted() == [])
    }

    /// Scripts of a gateway touch its own records and the stream of jobs.
    @Test func noOtherUserMayRunScriptsOrChangeTheServer() throws {
        for user in try RedisUsers().rules.keys {
            for word in ["eval", "evalsha"] {
                let mayRun = try allowed(user).contains(word)
                #expect(mayRun == (user == "fanfare-gateway"), "\(user) \(word)")
            }
            for word in [
                "script", "config|set", "acl|setuser", "debug", "flushall", "keys", "restore",
            ] {
                #expect(try !allowed(user).contains(word), "\(user) \(word)")
            }
            let mayLoad = try allowed(user).contains("function|load")
            #expect(mayLoad == (user == "fanfare-deploy"))
        }
    }

    /// What each user's part asks of Redis.
    private static let granted: [(user: String, command: String)] = [
        ("producer", "PING"), ("producer", "CLIENT SETNAME x"), ("producer", "ROLE"), ("producer", "CLUSTER SLOTS"),
        ("producer", "TIME"), ("producer", "XADD fanfare:{demo}:jobs * message {}"),
        ("producer", "SADD fanfare:projects demo"), ("producer", "HGETALL fanfare:{demo}:job:one"),
        ("producer", "GET fanfare:{demo}:seen:one"), ("producer", "RPUSH audience:{demo}:all a b"),
        ("producer", "SADD audience:{demo}:all a b"), ("producer", "LLEN audience:{demo}:all"),
        ("producer", "EXPIRE audience:{demo}:all 60"), ("producer", "PEXPIREAT audience:{demo}:all 1"),
        ("producer", "DEL audience:{demo}:all"),
        ("consumer", "XGROUP CREATE fanfare:{demo}:results g 0 MKSTREAM"),
        ("consumer", "XREADGROUP GROUP g c STREAMS fanfare:{demo}:feedback >"),
        ("consumer", "XACK fanfare:{demo}:upstream g 1-1"), ("consumer", "XLEN fanfare:{demo}:results"),
        ("consumer", "HGETALL fanfare:{demo}:job:one"),
        ("worker", "FCALL f 1 fanfare:{demo}:ctl"), ("worker", "LRANGE audience:{demo}:all 0 9"),
        ("worker", "XREADGROUP GROUP g c STREAMS fanfare:{demo}:jobs >"), ("worker", "WAIT 1 100"),
        ("operator", "FCALL f 1 fanfare:{demo}:ctl"), ("operator", "XADD fanfare:{demo}:jobs * message {}"),
        ("operator", "RPUSH audience:{demo}:all a"), ("operator", "CONFIG GET maxmemory"),
        ("deploy", "FUNCTION LOAD REPLACE x"),
    ]

    /// What a gateway asks of Redis for keys with the right push.
    private static let pushing = [
        "PING", "XADD fanfare:{demo}:jobs * message {}", "SADD fanfare:projects demo", "EXISTS fanfare:{demo}:ctl",
        "HGET fanfare:{demo}:ctl pressure",
        "EVALSHA 0 2 fanfare:{demo}:jobs fanfare:{demo}:gateway:1 a", "EVAL x 1 fanfare:{demo}:gateway:1 a",
        "HSET fanfare:{demo}:gateway:1 a b", "HGETALL fanfare:{demo}:gateway:1", "PEXPIRE fanfare:{demo}:gateway:1 1",
        "SET fanfare:{demo}:gateway:1 x PX 1", "GET fanfare:{demo}:gateway:1", "DEL fanfare:{demo}:gateway:1",
        "SET fanfare:gateway:1 x PX 1", "EXISTS fanfare:gateway:1", "HGETALL fanfare:{demo}:job:one",
        "XLEN fanfare:{demo}:jobs", "ZADD fanfare:{demo}:gateway:pushed 1 a", "ZCARD fanfare:{demo}:gateway:pushed",
        "ZREMRANGEBYRANK fanfare:{demo}:gateway:pushed 0 9",
        "GET fanfare:{demo}:seen:one", "XREAD COUNT 9 STREAMS fanfare:{demo}:results fanfare:{demo}:dead 0 0",
        "XREVRANGE fanfare:{demo}:results + - COUNT 1", "XRANGE fanfare:{demo}:feedback - +",
    ]
    /// What it asks for keys with the rights read and operate.
    private static let operating = [
        "FCALL f 1 fanfare:{demo}:ctl", "SSCAN fanfare:{demo}:jobs_open 0", "ZRANK fanfare:{demo}:queue x",
        "XRANGE fanfare:{demo}:jobs - +", "ZSCORE fanfare:{demo}:gateway:pushed a",
    ]
    /// What it asks for audiences, which are its own.
    private static let gathering = [
        "RPUSH audience:{demo}:gateway:.a x", "PEXPIRE audience:{demo}:gateway:.a 1",
        "EXISTS audience:{demo}:gateway:a",
        "RENAME audience:{demo}:gateway:.a audience:{demo}:gateway:a", "DEL audience:{demo}:gateway:a",
    ]
    /// What a gateway may never do.
    private static let neverOfGateways = [
        "EVAL x 1 fanfare:{demo}:ctl", "EVAL x 1 fanfare:{demo}:results", "EVAL x 1 other", "GET fanfare:{demo}:jobs",
        "RPUSH fanfare:projects a", "SMEMBERS fanfare:projects", "XADD fanfare:projects * a b", "GET other",
        "XREADGROUP GROUP g c STREAMS fanfare:{demo}:jobs >", "XGROUP CREATE fanfare:{demo}:results g 0",
        "RPUSH audience:{demo}:all a", "DEL audience:{demo}:all", "SCAN 0", "KEYS *", "CONFIG GET maxmemory",
        "FUNCTION LOAD x", "SCRIPT LOAD x", "FLUSHALL",
    ]

    /// What would harm another component, or read what is not the user's.
    private static let refused: [(user: String, command: String)] = [
        ("producer", "DEL fanfare:{demo}:jobs"), ("producer", "RPUSH fanfare:{demo}:jobs x"),
        ("producer", "SADD fanfare:{demo}:jobs x"), ("producer", "PEXPIREAT fanfare:{demo}:jobs 1"),
        ("producer", "EXPIRE fanfare:{demo}:jobs 1"), ("producer", "GET fanfare:{demo}:jobs"),
        ("producer", "XRANGE fanfare:{demo}:jobs - +"), ("producer", "XDEL fanfare:{demo}:jobs 1-1"),
        ("producer", "XTRIM fanfare:{demo}:jobs MAXLEN 0"), ("producer", "DEL fanfare:projects"),
        ("producer", "RPUSH fanfare:projects x"), ("producer", "PEXPIREAT fanfare:projects 1"),
        ("producer", "XADD fanfare:projects * a b"), ("producer", "SMEMBERS fanfare:projects"),
        ("producer", "SREM fanfare:projects demo"), ("producer", "XADD fanfare:{demo}:results * a b"),
        ("producer", "XADD fanfare:{demo}:dead * a b"), ("producer", "HSET fanfare:{demo}:job:one state done"),
        ("producer", "DEL fanfare:{demo}:job:one"), ("producer", "DEL fanfare:{demo}:seen:one"),
        ("producer", "SET fanfare:{demo}:seen:one x"), ("producer", "XADD audience:{demo}:all * a b"),
        ("producer", "LRANGE audience:{demo}:all 0 9"), ("producer", "HGETALL fanfare:{demo}:ctl"),
        ("producer", "FCALL f 1 fanfare:{demo}:ctl"), ("producer", "XRANGE fanfare:{demo}:results - +"),
        ("producer", "RPUSH other x"), ("producer", "FLUSHALL"), ("producer", "KEYS *"),
        ("consumer", "XADD fanfare:{demo}:results * a b"), ("consumer", "DEL fanfare:{demo}:results"),
        ("consumer", "XTRIM fanfare:{demo}:results MAXLEN 0"), ("consumer", "XGROUP DESTROY fanfare:{demo}:results g"),
        ("consumer", "XADD fanfare:{demo}:jobs * message {}"), ("consumer", "HGETALL fanfare:{demo}:ctl"),
        ("consumer", "FCALL f 1 fanfare:{demo}:ctl"), ("consumer", "HSET fanfare:{demo}:job:one state done"),
        ("worker", "DEL audience:{demo}:all"), ("worker", "RPUSH audience:{demo}:all a"), ("worker", "GET other"),
        ("worker", "FUNCTION LOAD x"), ("worker", "EVAL x 0"), ("worker", "FLUSHALL"), ("worker", "CONFIG GET x"),
        ("operator", "GET other"), ("operator", "CONFIG SET a b"), ("operator", "FUNCTION LOAD x"),
        ("deploy", "GET fanfare:projects"), ("deploy", "FCALL f 1 fanfare:{demo}:ctl"), ("deploy", "FUNCTION DELETE x"),
    ]

    /// Redis itself judges each command by the loaded file.
    @Test func eachUserMayRunWhatItsPartNeedsAndNothingElse() throws {
        let users = try RedisUsers()
        let server = try RedisServer(config: ["--aclfile", users.file])
        defer { withExtendedLifetime(users) { server.stop() } }
        func ofGateways(_ commands: [String]) -> [(user: String, command: String)] { commands.map { ("gateway", $0) } }
        let granted = Self.granted + ofGateways(Self.pushing + Self.gathering + Self.operating)
        let refused = Self.refused + ofGateways(Self.neverOfGateways)
        for (expectation, rows) in [(true, granted), (false, refused)] {
            for (user, command) in rows {
                let words = command.split(separator: " ").map(String.init)
                let answer = try server.cli(["ACL", "DRYRUN", "fanfare-\(user)"] + words)
                #expect((answer == "OK") == expectation, "\(user): \(command): \(answer)")
                #expect(expectation || answer.contains("has no permissions"), "\(user): \(command): \(answer)")
            }
        }
    }

    /// The page Security shortens the user's line for a gateway whose keys only push.
    @Test func gatewayThatOnlyPushesNeedsNoFunctions() throws {
        let rules = try #require(try RedisUsers().rules["fanfare-gateway"])
        let first = try #require(rules.firstIndex(of: "+fcall"))
        let selectors = try #require(rules.firstIndex { $0.hasPrefix("(") })
        let kept = rules[..<first].filter { !$0.hasPrefix("~") } + rules[selectors...]
        let users = try RedisUsers(and: ["user fanfare-short on >short " + kept.joined(separator: " ")])
        let server = try RedisServer(config: ["--aclfile", users.file])
        defer { withExtendedLifetime(users) { server.stop() } }
        func answer(_ command: String) throws -> String {
            try server.cli(["ACL", "DRYRUN", "fanfare-short"] + command.split(separator: " ").map(String.init))
        }
        for command in Self.pushing + Self.gathering { #expect(try answer(command) == "OK", "\(command)") }
        for command in Self.neverOfGateways + ["FCALL f 1 fanfare:{demo}:ctl", "DEL fanfare:{demo}:jobs"] {
            #expect(try answer(command).contains("has no permissions"), "\(command)")
        }
    }

    @Test func redisLoadsTheUsersFile() throws {
        let users = try RedisUsers()
        let server = try RedisServer(config: ["--aclfile", users.file])
        defer { server.stop() }
        let names = try server.cli("ACL", "USERS").split(separator: "\n").map(String.init)
        #expect(Set(names) == Set(users.rules.keys).union(["default"]))
    }
}
