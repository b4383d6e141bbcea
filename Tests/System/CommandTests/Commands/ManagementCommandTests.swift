import TestSupport
import Testing

@testable import fanfare

/// `fanfare topic` and `fanfare group` against a real redis-server without a worker: the test writes the results of a
/// job to Redis before the command runs.
@Suite struct ManagementCommandTests {
    private let redis: RedisServer
    private var flags: [String] { ["--project", "demo", "--redis", "unix://\(redis.socketPath)"] }

    init() throws { redis = try RedisServer() }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    private func entry() throws -> [String] {
        Array(lines(try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+")).dropFirst())
    }

    /// Writes a finished job and its result. Workers remember the id, so that a push of it shows this job.
    private func end(_ id: String, _ hash: [String], result: String?) throws {
        _ = try redis.cli("SET", "fanfare:{demo}:seen:\(id)", "1-1")
        let fields = ["total", "1"] + hash
        for index in stride(from: 0, to: fields.count, by: 2) {
            _ = try redis.cli("HSET", "fanfare:{demo}:job:\(id)", fields[index], fields[index + 1])
        }
        if let result {
            _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", id, "results", "[\(result)]")
        }
    }

    @Test func topicSubscribePushesAJob() async throws {
        let run = try await CommandRun(
            ["topic", "subscribe", "--topic", "news", "--token", "a", "--id", "mine", "--results", "all"] + flags
        )
        #expect(run.status == 0, "\(run.err)")
        #expect(run.out == "mine\n")
        #expect(
            try entry() == ["op", "subscribe", "topic", "news", "tokens", #"["a"]"#, "id", "mine", "results", "all"]
        )
        #expect(lines(try redis.cli("SMEMBERS", "fanfare:projects")) == ["demo"])
    }

    @Test func topicCommandsReadTokensFromFileOrStandardInput() async throws {
        let run = try await CommandRun(
            ["topic", "unsubscribe", "--topic", "news", "--tokens-file", "-", "--priority", "9"] + flags,
            input: "a\r\n\n b \n"
        )
        #expect(run.status == 0, "\(run.err)")
        #expect(
            try entry() == ["op", "unsubscribe", "topic", "news", "tokens", #"["a","b"]"#, "priority", "9"]
        )
        let long = try redis.folder.write("t", (0...TokensFile.inlineLimit).map { "t\($0)" }.joined(separator: "\n"))
        let refused = try await CommandRun(["topic", "subscribe", "--topic", "t", "--tokens-file", long] + flags)
        #expect(refused.status == 64)
        #expect(refused.err.contains("more than 100000 tokens"))
    }

    @Test func emptyOrMissingTokensFileExitsWith64AndARemedy() async throws {
        let empty = try redis.folder.write("empty", " \n\n")
        let gone = empty + "-not"
        for command in [
            ["send", "--title", "x"], ["topic", "subscribe", "--topic", "t"], ["group", "create", "--name", "n"],
        ] {
            for (file, reason) in [
                (empty, "--tokens-file: no tokens; give one per line"),
                ("-", "standard input: no tokens; give one per line"),
                (
                    gone,
                    "--tokens-file \(gone): No such file or directory; give a file that can be read, or - for standard input"
                ),
            ] {
                let run = try await CommandRun(command + ["--tokens-file", file] + flags)
                #expect(run.status == 64)
                #expect(run.err == "fanfare: \(reason)\n", "\(command)")
            }
        }
        let message = try await CommandRun(["send", "--token", "a", "--message", gone] + flags)
        #expect(message.status == 64)
        #expect(
            message.err
                == "fanfare: --message \(gone): No such file or directory; give a file of JSON, or - for standard input\n"
        )
        #expect(try entry().isEmpty)
    }

    static let broken: [(line: [String], reason: String)] = [
        (["topic", "subscribe", "--topic", "bad topic", "--token", "a"], "fanfare: topic: byte 3 is not one of"),
        (
            ["topic", "unsubscribe", "--topic", "t", "--token", "a", "--token", "b!"],
            "fanfare: tokens[1]: byte 1 is not"
        ),
        (["group", "create", "--name", "n", "--token", "a b"], "fanfare: tokens[0]: byte 1 is not one of"),
        (["group", "add", "--name", "n", "--group", "k k", "--token", "a"], "fanfare: group: byte 1 is not one of"),
        (["group", "get", "--name", String(repeating: "n", count: 1_025)], "fanfare: group_name: 1025 bytes"),
    ]

    @Test(arguments: broken.indices) func fieldThatBreaksARuleIsNotPushed(_ row: Int) async throws {
        let (line, reason) = Self.broken[row]
        let run = try await CommandRun(line + flags)
        #expect(run.status == 64 && run.out.isEmpty)
        #expect(run.err.hasPrefix(reason) && run.err.contains("so nothing was pushed"), "\(run.err)")
        #expect(try entry().isEmpty)
        let unchecked = try await CommandRun(line + ["--no-check", "--id", "odd"] + flags)
        #expect(unchecked.status == 0 && unchecked.out == "odd\n", "\(unchecked.err)")
    }

    @Test func linesThatAreNoTokensArePushedWithoutACheckOnly() async throws {
        let line = ["topic", "subscribe", "--topic", "t", "--tokens-file", "-"] + flags
        let run = try await CommandRun(line, input: "a\nb c\n")
        #expect(run.status == 64 && run.err.hasPrefix("standard input:2: byte 1 is not one of"), "\(run.err)")
        #expect(try await CommandRun(line + ["--no-check"], input: "a\nb c\n").status == 0)
        #expect(try entry().contains(#"["a","b c"]"#))
    }

    @Test func topicWaitExitsByTheJobsResult() async throws {
        try end("good", ["state", "done", "sent", "1"], result: nil)
        try end("bad", ["state", "done", "failed", "1"], result: nil)
        let line = ["topic", "subscribe", "--topic", "t", "--token", "a", "--wait"] + flags
        let good = try await CommandRun(line + ["--id", "good"])
        #expect(good.status == 0 && good.out == "good\n")
        let bad = try await CommandRun(line + ["--id", "bad", "--json"])
        #expect(bad.status == 1)
        #expect(bad.out.contains(#""state":"done","total":1,"sent":0,"failed":1"#))
    }

    static let groups: [(line: [String], fields: [String])] = [
        (
            ["create", "--name", "n", "--token", "a", "--token", "b"],
            ["op", "group.create", "group_name", "n", "tokens", #"["a","b"]"#]
        ),
        (
            ["add", "--name", "n", "--group", "K", "--token", "a"],
            ["op", "group.add", "group_name", "n", "group", "K", "tokens", #"["a"]"#]
        ),
        (
            ["remove", "--name", "n", "--group", "K", "--token", "a"],
            ["op", "group.remove", "group_name", "n", "group", "K", "tokens", #"["a"]"#]
        ),
        (["get", "--name", "n"], ["op", "group.get", "group_name", "n"]),
    ]

    @Test(arguments: groups.indices) func groupCommandsPushJobs(_ row: Int) async throws {
        let (line, fields) = Self.groups[row]
        let run = try await CommandRun(["group"] + line + ["--id", "mine"] + flags)
        #expect(run.status == 0, "\(run.err)")
        #expect(run.out == "mine\n")
        #expect(try entry() == fields + ["id", "mine"])
    }

    @Test func groupCreateRefuses21TokensFromAFile() async throws {
        let file = try redis.folder.write("m", (0..<21).map { "t\($0)" }.joined(separator: "\n"))
        let run = try await CommandRun(["group", "create", "--name", "n", "--tokens-file", file] + flags)
        #expect(run.status == 64)
        #expect(run.err.contains("21 tokens, a group has at most 20"))
        #expect(try entry().isEmpty)
    }

    @Test func groupWaitPrintsOnlyTheKey() async throws {
        let result = #"{"i":0,"group":"APA91bK","status":"sent","group_name":"n","message_id":"","attempts":1}"#
        try end("j", ["state", "done", "sent", "1"], result: result)
        let line = ["group", "create", "--name", "n", "--token", "a", "--id", "j", "--wait"] + flags
        let run = try await CommandRun(line)
        #expect(run.status == 0, "\(run.err)")
        #expect(run.out == "APA91bK\n")
        let json = try await CommandRun(line + ["--json"])
        #expect(json.status == 0)
        let duplicate = result.dropFirst().dropLast() + #","duplicate":true}"#
        #expect(json.out == #"{"id":"j","project":"demo","# + duplicate + "\n")
    }

    @Test func failedGroupOperationPrintsItsReason() async throws {
        let result =
            #"{"i":0,"group":"n","status":"failed","group_name":"n","attempts":1,"error":"INVALID_ARGUMENT","#
            + #""raw_error":"notification_key already exists","http_status":400,"action":"fix_message"}"#
        try end("j", ["state", "done", "failed", "1"], result: result)
        let line = ["group", "get", "--name", "n", "--wait"] + flags
        let run = try await CommandRun(line + ["--id", "j"])
        #expect(run.status == 1 && run.out.isEmpty)
        #expect(run.err.contains("job j: notification_key already exists, INVALID_ARGUMENT"))
        let json = try await CommandRun(line + ["--id", "j", "--json"])
        #expect(json.status == 1 && json.out.contains(#""raw_error":"notification_key already exists""#))

        let reason = "op: group.get needs the project's sender_id, not configured"
        try end("k", ["state", "rejected", "reason", reason], result: nil)
        let rejected = try await CommandRun(line + ["--id", "k"])
        #expect(rejected.status == 1 && rejected.out.isEmpty)
        #expect(rejected.err.contains("job k was rejected: \(reason)"))

        try end("l", ["state", "done", "sent", "1"], result: nil)
        let trimmed = try await CommandRun(line + ["--id", "l"])
        #expect(trimmed.status == 1 && trimmed.out.isEmpty)
        #expect(trimmed.err.contains("the stream no longer holds its result"))
    }
}
