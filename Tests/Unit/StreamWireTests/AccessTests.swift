import Foundation
import StreamWire
import TestSupport
import Testing

/// `ops/redis/fanfare.acl` against what is really asked of Redis.
@Suite struct AccessTests {
    /// What a version of the library calls, in an ACL's words. Redis holds functions to the rights of their caller.
    private func commandsOfTheLibrary(_ version: LibraryVersion = .two) throws -> Set<String> {
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
        let rules = try #require(try RedisUsers().rules[user])
        #expect(rules.contains("-@all"), "nothing but what is named")
        #expect(!rules.contains { $0.hasPrefix("+@") || $0 == "allcommands" })
        return Set(rules.filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) })
    }

    private static let connecting: Set<String> = ["ping", "client|setname", "role", "cluster|slots"]

    @Test func workersMayRunTheirCommandsOnly() throws {
        let own: Set<String> = ["info", "wait", "fcall", "xgroup|create", "xreadgroup", "xautoclaim"]
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

    @Test func operatorsMayCallTheLibrary() throws {
        let missing = try commandsOfTheLibrary().union(Self.connecting).subtracting(allowed("fanfare-operator"))
        #expect(missing.sorted() == [])
    }

    @Test func noUserMayRunScriptsOrChangeTheServer() throws {
        for user in try RedisUsers().rules.keys {
            for word in [
                "eval", "evalsha", "script", "config|set", "acl|setuser", "debug", "flushall", "keys", "restore",
            ] {
                #expect(try !allowed(user).contains(word), "\(user) \(word)")
            }
            let mayLoad = try allowed(user).contains("function|load")
            #expect(mayLoad == (user == "fanfare-deploy"))
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
