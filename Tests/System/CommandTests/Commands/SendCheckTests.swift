import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare send` with input that a worker would reject: nothing is pushed, and the error names the place.
@Suite struct SendCheckTests {
    private let redis: RedisServer
    private let folder: TemporaryFolder

    init() throws {
        redis = try RedisServer()
        folder = try TemporaryFolder()
    }

    private func send(_ arguments: [String], input: String = "") async throws -> CommandRun {
        try await CommandRun(
            ["send", "--project", "demo", "--redis", "unix://\(redis.socketPath)"] + arguments,
            input: input,
            folder: folder.path
        )
    }

    /// Runs a command that must push nothing, and returns its lines on standard error.
    private func refusal(_ arguments: [String], input: String = "") async throws -> [String] {
        let run = try await send(arguments, input: input)
        #expect(run.status == 64 && run.out.isEmpty, "\(run.out)\(run.err)")
        #expect(try redis.cli("EXISTS", "fanfare:{demo}:jobs").hasPrefix("0"))
        return run.err.split(separator: "\n").map(String.init)
    }

    private func lists() throws -> String { try redis.cli("KEYS", "audience:*").trimmingCharacters(in: .newlines) }

    static let messages: [(text: String, place: String)] = [
        (
            "{\n  \"notification\": { \"title\": \"é\", }\n}\n",
            "m.json:2:35: message: not JSON at byte 37: an object's member"
        ),
        ("{\n\"data\": {\n\"k\": \"\(String(repeating: "x", count: 5_000))\"}}", "m.json:2: message.data: 5001 bytes"),
        ("{\n\"android\":\n{\"ttl\":\"x\"}}", "m.json:3: message.android.ttl: \"x\" is not a duration"),
        ("{\"data\":{},\n\"data\":{}}", "m.json:2: message.data: given more than once"),
        ("", "m.json:1:1: message: not JSON at byte 0"), ("[]", "m.json: message: must be an object"),
        (String(repeating: "{\"a\":", count: 100_000), "m.json: message: 500000 bytes of JSON, at most 65536"),
        (String(repeating: "[", count: 1_000), "m.json:1:65: message: not JSON at byte 64: nested deeper"),
        (String(repeating: " ", count: 10_000_000), "fanfare: --message m.json: more than 1048576 bytes"),
    ]

    @Test(arguments: messages)
    func brokenMessageIsReportedWithFileAndLine(text: String, place: String) async throws {
        _ = try folder.write("m.json", text)
        let lines = try await refusal(["--token", "a", "--message", "m.json"])
        #expect(lines.first?.hasPrefix(place) == true, "\(lines)")
    }

    @Test func messageOfStandardInputAndOptionsIsChecked() async throws {
        let piped = try await refusal(["--token", "a", "--message", "-"], input: "{\n\"bogus\":1}")
        #expect(piped.first == "standard input:2: message.bogus: unknown field", "\(piped)")
        let built = try await refusal(["--token", "a", "--data", "from=x"])
        #expect(built.first?.hasPrefix("fanfare: message.data.from: ") == true, "\(built)")
        #expect(built.last?.hasSuffix("push it as it is with --no-check") == true)
    }

    @Test func messageGivenTwiceIsNamed() async throws {
        let run = try await send(["--token", "a", "--title", "x", "--message", "-"])
        #expect(run.status == 64 && run.err.contains("--message holds the whole message"), "\(run.err)")
    }

    @Test func fileWithAByteOrderMarkIsPushedWithoutIt() async throws {
        _ = try folder.write("m.json", "\u{FEFF}{\"data\":{\"a\":\"b\"}}")
        _ = try folder.write("t", "\u{FEFF}one\r\n\r\n  two  \r\n")
        let run = try await send(["--tokens-file", "t", "--message", "m.json"])
        #expect(run.status == 0, "\(run.err)")
        let entry = try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+").split(separator: "\n")
        #expect(entry.contains(#"["one","two"]"#) && entry.contains(#"{"data":{"a":"b"}}"#), "\(entry)")
    }

    @Test(arguments: [
        (["--token", "a b"], "fanfare: token: byte 1 is not one of"),
        (["--token", "a", "--token", "b!"], "fanfare: tokens[1]: byte 1 is not one of"),
        (["--topic", "a b"], "fanfare: topic: byte 1 is not one of"),
        (["--condition", "'a' in"], "fanfare: condition: "),
        (["--audience", "tokens"], "fanfare: audience: its hash tag must be {demo}"),
        (["--token", "a", "--audience-size", "5"], "fanfare: audience_size: only with topic or condition"),
        (["--token", "a", "--at", "4102444800000", "--expires-at", "4102444800000"], "fanfare: expires_at: "),
    ])
    func brokenFieldIsReported(arguments: [String], start: String) async throws {
        let lines = try await refusal(arguments + ["--title", "x"])
        #expect(lines.first?.hasPrefix(start) == true, "\(lines)")
        #expect(lines.last?.contains("the configuration does not have project demo") == true, "\(lines)")
    }

    /// Its recipients would all expire at once.
    @Test func jobThatHasExpiredIsRefused() async throws {
        let past = ["--expires-at", "1772352000000"]
        let pushes = [
            ["send", "--token", "a", "--title", "x"], ["topic", "subscribe", "--topic", "t", "--token", "a"],
        ]
        let link = ["--project", "demo", "--redis", "unix://\(redis.socketPath)"]
        for push in pushes {
            let run = try await CommandRun(push + past + link)
            #expect(run.status == 64, "\(run.err)")
            #expect(run.err.hasPrefix("fanfare: expires_at: 2026-03-01T08:00:00.000Z is past"), "\(run.err)")
            let forced = try await CommandRun(push + past + link + ["--no-check"])
            #expect(forced.status == 0, "\(forced.err)")
            let coming = try await CommandRun(push + ["--expires-at", "+1h"] + link)
            #expect(coming.status == 0, "\(coming.err)")
        }
        #expect(try redis.cli("XLEN", "fanfare:{demo}:jobs").hasPrefix("4"))
    }

    @Test func rulesAreThoseOfTheProjectsTransport() async throws {
        let file = try folder.write("f.yaml", "projects: { demo: { transport: legacy, server_key_file: k } }\n")
        _ = try folder.write(
            "m.json",
            "{\n\"androidV2\":{\"remoteNotification\":{\"notification\":{\"title\":\"x\"}}}}"
        )
        let lines = try await refusal(["--token", "a", "--message", "m.json", "-c", file])
        #expect(lines.first?.hasPrefix("m.json:2: message.androidV2: ") == true, "\(lines)")
        #expect(lines.last?.contains("(checked") == false)
    }

    @Test func badLinesOfATokensFileAreListed() async throws {
        let lines =
            (1...40).map { $0.isMultiple(of: 3) ? "bad \($0)" : "good-\($0)" } + [String(repeating: "x", count: 1_025)]
        _ = try folder.write("t.txt", "\n" + lines.joined(separator: "\r\n") + "\n")
        let found = try await refusal(["--tokens-file", "t.txt", "--title", "x"])
        #expect(found.count == 12, "\(found)")
        #expect(found[0] == "t.txt:4: byte 3 is not one of A-Z a-z 0-9 _ : . -")
        #expect(found[9] == "t.txt:31: byte 3 is not one of A-Z a-z 0-9 _ : . -")
        #expect(found[10] == "and 4 more")
        #expect(found[11].hasPrefix("fanfare: --tokens-file: 14 lines are no tokens, so nothing was pushed"))
        let piped = try await refusal(["--tokens-file", "-", "--title", "x"], input: "a\nb c\n")
        #expect(piped.first == "standard input:2: byte 1 is not one of A-Z a-z 0-9 _ : . -")
    }

    @Test func badLineOfALongFileWritesNothing() async throws {
        let text = (0..<TokensFile.inlineLimit + 5_000).map { "token-\($0)" }.joined(separator: "\n") + "\nb d\n"
        _ = try folder.write("t", text)
        let place = ":\(TokensFile.inlineLimit + 5_001): byte 1 is not one of A-Z a-z 0-9 _ : . -"
        #expect(try await refusal(["--tokens-file", "t", "--title", "x"]).first == "t\(place)")
        #expect(try lists().isEmpty)
        // A pipe can be read only once: its list is written, and deleted again.
        let piped = try await refusal(["--tokens-file", "-", "--title", "x"], input: text)
        #expect(piped.contains("standard input\(place)"), "\(piped)")
        #expect(try lists().isEmpty)
    }

    @Test func noCheckPushesTheJobAsItIs() async throws {
        _ = try folder.write("t", "a\nb c\n")
        _ = try folder.write("m.json", "{")
        let run = try await send(["--tokens-file", "t", "--message", "m.json", "--no-check"])
        #expect(run.status == 0, "\(run.err)")
        #expect(try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+").contains(#"["a","b c"]"#))
    }

    @Test func unreadableInputIsRefusedWithoutFillingMemory() async throws {
        try Data((0..<200_000).map { _ in UInt8.random(in: 0...255) }).write(
            to: URL(fileURLWithPath: folder.file("binary"))
        )
        let rows = [
            (["--token", "a", "--message", "."], "fanfare: --message .: Is a directory"),
            (["--token", "a", "--message", "gone"], "fanfare: --message gone: No such file or directory"),
            (["--token", "a", "--message", "/dev/zero"], "fanfare: --message /dev/zero: more than 1048576 bytes"),
            (["--tokens-file", ".", "--title", "x"], "fanfare: --tokens-file .: is a directory"),
            (
                ["--tokens-file", "/dev/zero", "--title", "x"],
                "fanfare: --tokens-file: line 1 is longer than 65536 bytes"
            ),
            (["--tokens-file", "/dev/null", "--title", "x"], "fanfare: --tokens-file: no tokens"),
            (["--tokens-file", "binary", "--title", "x"], "binary:1: "),
        ]
        for (arguments, start) in rows {
            let lines = try await refusal(arguments)
            #expect(lines.first?.hasPrefix(start) == true, "\(arguments): \(lines)")
        }
        // Random bytes without an end.
        let endless = try await refusal(["--tokens-file", "/dev/urandom", "--title", "x"])
        #expect(endless.contains("and more than 9990 more"), "\(endless)")
    }
}
