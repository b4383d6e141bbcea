import FanfareClient
import Foundation
import TestSupport
import Testing

@testable import fanfare

/// The executable against a real redis-server without a worker.
@Suite struct CommandTests {
    private let redis: RedisServer
    private var flags: [String] { ["--project", "demo", "--redis", "unix://\(redis.socketPath)"] }

    init() throws { redis = try RedisServer() }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    @Test func sendPushesTheFieldsAndPrintsTheID() async throws {
        let run = try await CommandRun(
            ["send", "--token", "a", "--title", "Hi", "--data", "k=v", "--priority", "7", "--at", "1772352000000"]
                + flags
        )
        #expect(run.status == 0, "\(run.err)")
        let entry = lines(try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+"))
        #expect(lines(run.out) == [entry[0]])
        #expect(
            Array(entry.dropFirst()) == [
                "token", "a", "message", #"{"notification":{"title":"Hi"},"data":{"k":"v"}}"#, "priority", "7",
                "not_before", "1772352000000",
            ]
        )
        #expect(lines(try redis.cli("SMEMBERS", "fanfare:projects")) == ["demo"])
    }

    @Test func sendReadsTokensAndMessageFromFilesAndStandardInput() async throws {
        let message = try redis.folder.write("m.json", #"{"data":{"a":"b"}}"#)
        let run = try await CommandRun(
            ["send", "--tokens-file", "-", "--message", message, "--id", "mine", "--json"] + flags,
            input: "a:1\r\n\n  b \nc"
        )
        #expect(run.status == 0, "\(run.err)")
        #expect(run.out == #"{"id":"mine","project":"demo"}"# + "\n")
        let entry = lines(try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+"))
        #expect(entry.contains(#"["a:1","b","c"]"#))
        #expect(entry.contains(#"{"data":{"a":"b"}}"#))
    }

    @Test func longTokensFileIsWrittenToAListInRedis() async throws {
        let count = TokensFile.inlineLimit + 2_501
        let file = try redis.folder.write("t", (0..<count).map { "token-\($0)" }.joined(separator: "\n"))
        let run = try await CommandRun(["send", "--tokens-file", file, "--title", "x"] + flags)
        #expect(run.status == 0, "\(run.err)")
        let entry = lines(try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+"))
        let place = try #require(entry.firstIndex(of: "audience"))
        let key = entry[place + 1]
        #expect(key.hasPrefix("audience:{demo}:"))
        #expect(run.err.contains(key))
        #expect(lines(try redis.cli("LLEN", key)) == ["\(count)"])
        #expect(lines(try redis.cli("LINDEX", key, "-1")) == ["token-\(count - 1)"])
        #expect(lines(try redis.cli("LINDEX", key, "100000")) == ["token-100000"])
        let seconds = try #require(Int(lines(try redis.cli("TTL", key))[0]))
        #expect((604_000...604_800).contains(seconds))
    }

    @Test func waitWithoutTerminalPrintsNoControlCharactersAndExitsByTheJobsState() async throws {
        let hash = ["state", "rejected", "total", "0", "reason", "token: empty", "created_ms", "1"]
        for (index, value) in hash.enumerated() where index.isMultiple(of: 2) {
            _ = try redis.cli("HSET", "fanfare:{demo}:job:j", value, hash[index + 1])
        }
        for id in ["j", "k"] { _ = try redis.cli("SET", "fanfare:{demo}:seen:\(id)", "1-1") }
        let run = try await CommandRun(["send", "--id", "j", "--token", "a", "--title", "x", "--wait"] + flags)
        #expect(run.status == 1)
        #expect(run.out == "j\n")
        #expect(run.err.contains("token: empty"))
        #expect(!run.err.contains("\u{1B}") && !run.err.contains("\r"))
        _ = try redis.cli("HSET", "fanfare:{demo}:job:k", "state", "done", "total", "2", "sent", "2")
        let done = try await CommandRun(["send", "--id", "k", "--token", "a", "--title", "x", "--wait"] + flags)
        #expect(done.status == 0)
    }

    @Test func jobShowAndResultsPrintStateAndResults() async throws {
        let missing = try await CommandRun(["job", "show", "j"] + flags)
        #expect(missing.status == 1)
        #expect(missing.err.contains("job j: not there"))
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "state", "done", "total", "2", "sent", "1", "failed", "1")
        let sent = #"{"i":0,"token":"a","status":"sent","message_id":"m","attempts":1}"#
        let failed = #"{"i":1,"token":"b","status":"failed","attempts":1,"error":"UNREGISTERED","action":"remove"}"#
        _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", "j", "results", "[\(sent),\(failed)]")
        _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", "other", "results", "[\(sent)]")

        let shown = try await CommandRun(["job", "show", "j", "--json"] + flags)
        #expect(shown.status == 0)
        #expect(shown.out.contains(#""state":"done","total":2,"sent":1,"failed":1"#))
        let all = try await CommandRun(["job", "results", "j", "--json"] + flags)
        #expect(lines(all.out) == [sent, failed])
        // An audience may name anything: it must not look like another row, or another column.
        let forged = #"{"i":2,"token":"x\n9\tsent\t-","status":"failed","attempts":0,"error":"A\tB","action":"remove"}"#
        _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", "forged", "results", "[\(forged)]")
        _ = try redis.cli("HSET", "fanfare:{demo}:job:forged", "state", "active", "total", "1")
        let row = try await CommandRun(["job", "results", "forged"] + flags)
        let cells = [#"2"#, "failed", #"A\u0009B"#, "remove", "0", #"x\u000a9\u0009sent\u0009-"#]
        #expect(lines(row.out).dropFirst() == [cells.joined(separator: "\t")], "\(row.out)\(row.err)")
        let bad = try await CommandRun(["job", "results", "j", "--failed"] + flags)
        #expect(lines(bad.out).dropFirst() == ["1\tfailed\tUNREGISTERED\tremove\t1\tb"])
    }

    @Test func possibleDuplicatesAreCountedAndFiltered() async throws {
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "state", "done", "total", "2", "sent", "2", "maybe_dup", "1")
        let once = #"{"i":0,"token":"a","status":"sent","message_id":"m","attempts":1}"#
        let twice = #"{"i":1,"token":"b","status":"sent","message_id":"m","attempts":2,"maybe_dup":true}"#
        _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", "j", "results", "[\(once),\(twice)]")
        let results = try await CommandRun(["job", "results", "j", "--maybe-dup", "--json"] + flags)
        #expect(lines(results.out) == [twice])
        let both = try await CommandRun(["job", "results", "j", "--maybe-dup", "--failed", "--json"] + flags)
        #expect(both.status == 0 && both.out == "")
        let shown = try await CommandRun(["job", "show", "j"] + flags)
        #expect(shown.out.contains("1 may have got it twice"), "\(shown.out)")
        let object = try await CommandRun(["job", "show", "j", "--json"] + flags)
        #expect(object.out.contains(#""retrying":0,"maybe_dup":1,"#), "\(object.out)")
    }

    @Test func unreadableResultsEntryIsSkippedAndNamed() async throws {
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "state", "done", "total", "1", "sent", "1")
        let sent = #"{"i":0,"token":"a","status":"sent","message_id":"m","attempts":1}"#
        let stream = "fanfare:{demo}:results"
        let garbage = try ["\u{1B}[31m", "{}"].map { try redis.cli("XADD", stream, "*", "job", "j", "results", $0) }
        _ = try redis.cli("XADD", stream, "*", "job", "j", "results", "[\(sent)]")
        let run = try await CommandRun(["job", "results", "j", "--json"] + flags)
        #expect(run.status == 1)
        #expect(lines(run.out) == [sent])
        for entry in garbage { #expect(run.err.split(separator: entry).count == 2, "\(run.err)") }
        #expect(!run.err.contains("\u{1B}"))
    }

    @Test func functionsLoadIsIdempotent() async throws {
        for _ in 0..<2 {
            let run = try await CommandRun(["functions", "load", "--redis", "unix://\(redis.socketPath)"])
            #expect(run.status == 0, "\(run.err)")
        }
        #expect(try redis.cli("FUNCTION", "LIST").contains("fanfare_v3"))
    }

    @Test func wrongPasswordExitsWith78AndAbsentServerWith69() async throws {
        let absent = try await CommandRun(["job", "show", "j", "--project", "demo", "--redis", "unix:///nowhere.sock"])
        #expect(absent.status == 69)
        let locked = try RedisServer(config: ["--requirepass", "right"], waitUntilReady: false)
        let url = "unix://:wrong-secret@\(locked.socketPath)"
        let refused = try await CommandRun(["job", "show", "j", "--project", "demo"], environment: ["REDIS_URL": url])
        #expect(refused.status == 78)
        #expect(!refused.err.contains("wrong-secret"))
    }

    @Test func configurationFaultExitsWith78() async throws {
        let file = try redis.folder.write("fanfare.yaml", "redsi: {}\nprojects: { demo: {} }\n")
        for command in [["worker"], ["config", "check"], ["functions", "load"]] {
            let run = try await CommandRun(command + ["-c", file])
            #expect(run.status == 78, "\(command)")
            #expect(run.err.contains("redsi (line 1): unknown key; did you mean redis?"), "\(command)")
        }
        let json = try await CommandRun(["config", "check", "--json"], environment: ["FANFARE_CONFIG": file])
        #expect(json.status == 78)
        #expect(json.out.hasPrefix(#"{"ok":false,"problems":["redsi (line 1)"#))
    }

    @Test func configCheckNamesFilesWithWrongContent() async throws {
        _ = try redis.folder.write("right.json", try Certificates.serviceAccount())
        _ = try redis.folder.write("authority.pem", "not a certificate\n")
        let pipe = redis.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let project = "projects: { demo: { credentials: right.json } }\n"
        let rows = [
            ("tls: { ca_file: authority.pem }\n", "tls.ca_file (line 1): the file holds no certificate"),
            ("tls: { ca_file: pipe }\n", "tls.ca_file (line 1): is not a regular file"),
            ("admin: { token_file: pipe, listen: \"127.0.0.1:0\" }\n", "admin.token_file (line 1): is not a regular"),
            ("redis: { password_file: /dev/null }\n", "redis.password_file (line 1): is not a regular file"),
        ]
        for (index, (text, fault)) in rows.enumerated() {
            let file = try redis.folder.write("wrong\(index).yaml", text + project)
            let run = try await CommandRun(["config", "check", "-c", file])
            #expect(run.status == 78 && run.err.contains(fault), "\(run.err)")
        }
        // A pipe without a writer counts as an empty file; the command does not wait.
        let run = try await CommandRun(["config", "check", "-c", pipe])
        #expect(run.status == 78, "\(run.out)\(run.err)")
    }

    @Test func configCheckAcceptsAValidConfiguration() async throws {
        _ = try redis.folder.write("key.json", try Certificates.serviceAccount())
        let file = try redis.folder.write("good.yaml", "projects: { demo: { credentials: key.json } }\n")
        let run = try await CommandRun(["config", "check", "-c", file])
        #expect(run.status == 0, "\(run.err)")
        let project = "project demo: v1, https://fcm.googleapis.com"
        #expect(lines(run.out) == ["file \(file)", project, "The configuration can be used, with 2 warnings."])
        #expect(run.err.contains("readable by every user"))
        #expect(
            run.err.contains("projects.demo.endpoint: Google's, but the credential is a sandbox's (localhost); set")
        )
        let key = redis.folder.path + "/key.json"
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let fine = try redis.folder.write(
            "fine.yaml",
            "projects: { demo: { credentials: key.json, endpoint: \"https://localhost\" } }\n"
        )
        let quiet = try await CommandRun(["config", "check", "-c", fine])
        #expect(quiet.status == 0 && quiet.err.isEmpty, "\(quiet.err)")
        #expect(lines(quiet.out).last == "The configuration is fine.")
    }

    /// A warning can be the cause of a fault, so no command shows the fault alone.
    @Test(arguments: [["config", "check"], ["worker"], ["project", "ls"]])
    func warningsAreShownBesideFaults(command: [String]) async throws {
        var environment = [
            "FANFARE_PROJECTS": "my-app", "FANFARE_PROJECTS_MYAPP_CREDENTIALS": "x",
            "FANFARE_PROJECTS_MY_APP_TRANSPORT": "legacy",
        ]
        // Only the first two need the server key.
        if command[0] == "project" { environment["FANFARE_REDIS_PASSWORD_FILE"] = "nowhere" }
        let warning = "FANFARE_PROJECTS_MYAPP_CREDENTIALS: no setting has this variable; did you mean"
        for invalidValue in [nil, "loud"] {
            environment["FANFARE_LOG_LEVEL"] = invalidValue
            let run = try await CommandRun(command, environment: environment)
            let said = lines(run.err)
            #expect(run.status == 78 && said.count == 2, "\(run.err)")
            #expect(said.first?.hasPrefix("fanfare: warning: \(warning)") == true, "\(run.err)")
            #expect(said.last?.hasPrefix("fanfare: configuration: ") == true, "\(run.err)")
        }
        guard command[0] == "config" else { return }
        let json = try await CommandRun(command + ["--json"], environment: environment)
        #expect(json.status == 78 && json.out.contains(#""warnings":["\#(warning)"#), "\(json.out)")
    }
}
