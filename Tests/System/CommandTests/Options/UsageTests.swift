import ArgumentParser
import FanfareConfiguration
import FanfareModel
import Testing

@testable import fanfare

@Suite struct UsageTests {
    private static let send = ["send", "--project", "demo"]

    /// The page Configuration and the units name these flags.
    @Test func everyFlagOfASettingIsAnOptionOfTheWorker() {
        let help = Fanfare.helpMessage(for: WorkerCommand.self)
        let flags = Settings.all.compactMap(\.flag)
        #expect(flags.count > 5)
        for flag in flags { #expect(help.contains("--\(flag) "), "--\(flag)") }
    }

    @Test(arguments: [
        send + ["--token", "a", "--token", "b", "--title", "t", "--body", "b", "--data", "k=v", "--data", "l=a=b"],
        send + ["--tokens-file", "-", "--message", "m.json", "--wait", "--json"],
        send + ["--topic", "t", "--title", "x", "--at", "+5m", "--priority", "9", "--delivery", "at_most_once"],
        send + ["--condition", "'a' in topics", "--data", "k=", "--results", "none", "--format", "legacy"],
        send + ["--group", "k", "--title", "x", "--id", "i", "--validate-only", "--expires-at", "1772352000000"],
        send + ["--recipients-file", "f", "--title", "x", "--rate", "600", "--canary", "1%", "--canary-wait", "60"],
        send + ["--recipients-file", "-", "--variants", "v", "--message", "m", "--stop-if", "failed>5%"],
        send + ["--tokens-file", "f", "--title", "x", "--send-window", "09:00-21:00 Europe/Madrid"],
        send + [
            "--tokens-file", "f", "--title", "x", "--id", "i", "--local-time", "2027-03-01T09:00", "--zone-column", "z",
        ],
        ["worker", "--name", "w", "--max-in-flight", "10", "--log-level", "info", "--admin-listen", "127.0.0.1:9464"],
        ["topic", "ls", "--token", "a", "--token", "b", "--project", "p", "--id", "i", "--json"],
        ["job", "preview", "f"], ["job", "preview", "-", "--recipient", "3", "--project", "p", "--json"],
        send + ["--token", "a", "--title", "x", "--no-check"], ["init"], ["init", "--sandbox", "--project", "p"],
        ["init", "--stdout"], ["job", "check", "f"], ["job", "check", "-", "--project", "p", "--json"],
        ["topic", "subscribe", "--topic", "t", "--token", "a", "--token", "b", "--id", "i", "--wait", "--json"],
        ["topic", "unsubscribe", "--topic", "t", "--tokens-file", "-", "--project", "p", "--at", "+1h"],
        ["group", "create", "--name", "n", "--token", "a", "--wait"],
        ["group", "add", "--name", "n", "--group", "k", "--tokens-file", "f", "--id", "i"],
        ["group", "remove", "--name", "n", "--group", "k", "--token", "a", "--json"],
        ["group", "get", "--name", "n", "--project", "p", "--wait", "--json"],
        ["job", "show", "j", "--project", "p", "--json"], ["job", "results", "j", "--failed", "-c", "f"],
        ["token", "show", "T", "--json", "--unmasked"], ["token", "show", "-", "--project", "p", "--from", "i1-1_2_f"],
        ["worker", "--exit-when-idle", "--name", "w"], ["functions", "load", "--redis", "redis://h"],
        ["job", "ls", "--state", "parked", "--limit", "5", "--json"], ["job", "ls", "--all", "--project", "p"],
        ["job", "cancel", "j"], ["job", "pause", "j", "--json"], ["job", "resume", "j"],
        ["job", "pause", "i", "j", "--reason", "r"],
        ["job", "ls", "--all-projects", "--sort", "failed", "--match", "x"],
        ["pause", "--all", "--dry-run"], ["pause", "--all", "--yes", "--scheduled", "--project", "p", "--reason", "r"],
        ["resume", "--all", "--yes", "--json"],
        ["job", "show", "j", "--wait"], ["gateway", "key", "ls", "--json"],
        ["gateway", "key", "remove", "n", "--json"],
        [
            "gateway", "key", "add", "n", "--project", "a", "--project", "b", "--rights", "push,read,operate", "--rate",
            "9",
        ],
        ["gateway", "key", "add", "n", "--project", "a", "--service-account", "f", "--url", "https://a:8443"],
        ["gateway", "ca", "--out", "d", "--name", "a.example", "--name", "::1", "--days", "9", "--keep-ca-key"],
        ["project", "ls", "--json"], ["project", "pause", "demo", "--reason", "r"], ["project", "resume", "demo"],
        ["project", "forget", "demo", "--yes", "--force", "--reason", "r", "--json"],
        send + ["--topic", "t", "--title", "x", "--force"],
        ["topic", "subscribe", "--topic", "t", "--token", "a", "--no-check", "--force"],
        ["group", "get", "--name", "n", "--no-check", "--force"],
        ["topic", "ls", "--token", "a", "--no-check", "--force"],
        ["dead", "ls", "--kind", "parked", "--limit", "3"], ["dead", "replay", "1-0", "2-0", "--json"],
        ["dead", "replay", "--job", "j"], ["dead", "replay", "--all", "--kind", "rejected", "--yes"],
        ["dead", "show", "1-0"],
        ["dead", "drop", "--all", "--yes"],
        ["doctor", "--json"], ["doctor", "--no-online"], ["config", "check", "--json"], ["demo", "--tokens", "5"],
        ["demo", "--stay"], ["demo", "--tokens", "1000000", "--engine", "nghttp2", "--json"],
        ["top"], ["top", "--once", "--json"], ["dashboard"],
        ["dashboard", "--listen", "[::1]:0", "--read-only", "--token-file", "f", "--allow-host", "a"],
        ["dashboard", "--metrics-token-file", "f"],
        ["dashboard", "--allow-host", "a", "--user-header", "X-Forwarded-User"], ["sandbox"],
        ["sandbox", "--state", "d", "--project", "a", "--project", "b", "--bare-errors", "--seed", "7"],
    ])
    func validLinesAreParsed(line: [String]) throws {
        #expect(throws: Never.self) { try Fanfare.parseAsRoot(line) }
    }

    @Test(arguments: [
        ["push"], send, send + ["--title", "t"], send + ["--token", "a"],
        send + ["--token", "a", "--topic", "t", "--title", "x"],
        send + ["--token", "a", "--title", "x", "--message", "m"],
        send + ["--tokens-file", "-", "--message", "-"],
        send + ["--recipients-file", "-", "--message", "-"],
        send + ["--recipients-file", "f", "--tokens-file", "f", "--title", "x"],
        send + ["--recipients-file", "-", "--variants", "-", "--title", "x"],
        send + ["--token", "a", "--variants", "v", "--title", "x"],
        send + ["--token", "a", "--title", "x", "--rate", "fast"],
        ["job", "preview"], ["job", "preview", "f", "--recipient", "x"], ["topic", "ls"],
        send + ["--tokens-file", "f", "--title", "x", "--id", "i", "--local-time", "9:00"],
        send + ["--tokens-file", "f", "--title", "x", "--zone-column", "z"],
        send + ["--tokens-file", "f", "--title", "x", "--local-time", "2027-03-01T09:00"],
        send + ["--token", "a", "--data", "novalue"],
        send + ["--token", "a", "--data", "k=1", "--data", "k=2"],
        send + ["--token", "a", "--title", "x", "--at", "tomorrow"],
        send + ["--token", "a", "--title", "x", "--delivery", "exactly_once"],
        send + ["--token", "a", "--title", "x", "--results", ""],
        send + ["--token", "a", "--title", "x", "--priority", "high"],
        ["topic", "subscribe", "--topic", "t"], ["topic", "subscribe", "--token", "a"],
        ["topic", "unsubscribe", "--topic", "t", "--token", "a", "--tokens-file", "f"],
        ["topic", "subscribe", "--topic", "t", "--token", "a", "--priority", "10"],
        ["topic", "subscribe", "--topic", "t", "--token", "a", "--id", "a b"],
        ["group", "create", "--token", "a"], ["group", "create", "--name", "n"],
        ["group", "create", "--name", "n", "--group", "k", "--token", "a"],
        ["group", "create", "--name", ""] + Array(repeating: ["--token", "a"], count: 2).joined(),
        ["group", "create", "--name", "n"] + Array(repeating: ["--token", "a"], count: 21).joined(),
        ["group", "add", "--name", "n", "--token", "a"], ["group", "get", "--name", "n", "--token", "a"],
        ["group", "remove", "--name", "n", "--group", "k"], ["group", "get", "--name", "n", "--id", "a b"],
        ["init", "--project", "No_Good"], ["job", "check"], ["job", "check", "a", "b"],
        ["token", "show"], ["token", "show", "T", "--from", "i1-1_2_f"], ["token", "show", "T", "--limit", "0"],
        ["job", "show"], ["sandbox", "--port", "x"], ["demo", "--tokens", "0"],
        ["worker", "--concurrency", "3"], ["dead", "purge"], ["job", "ls", "--state", "sleeping"],
        ["job", "ls", "--limit", "0"], ["job", "cancel"], ["job", "pause"], ["project", "pause"],
        ["project", "forget", "No_Good", "--yes"], ["project", "forget", "--yes"],
        ["demo", "--engine", "wget"], ["demo", "--tokens", "1000001"],
        ["pause"], ["pause", "--yes"], ["pause", "j"], ["gateway", "key", "remove"], ["gateway", "key", "add", "n"],
        ["gateway", "key", "add", "n", "--project", "No_Good"], ["gateway", "key", "add", "--project", "a"],
        ["gateway", "key", "add", "a/b", "--project", "a"], ["gateway", "key", "add", ".n", "--project", "a"],
        ["gateway", "key", "add", "n", "--project", "a", "--project", "a"], ["gateway", "key", "remove", "ffk_x"],
        ["gateway", "key", "add", "n", "--project", "a", "--rights", "push,send"],
        ["gateway", "key", "add", "n", "--project", "a", "--rights", ""],
        ["gateway", "key", "add", "n", "--project", "a", "--rate", "0"],
        ["gateway", "key", "add", "n", "--project", "a", "--service-account", "f"], ["gateway", "ca"],
        ["resume", "--all", "--project", "No_Good", "--yes"],
        ["resume", "--all", "--scheduled", "--yes"], ["job", "ls", "--sort", "size"],
        ["job", "ls", "--all-projects", "--project", "p"],
        ["project", "pause", "No_Good"], ["dead", "ls", "--kind", "odd"], ["dead", "replay"],
        ["dead", "replay", "1-0", "--all"], ["dead", "replay", "1-0", "--kind", "parked"], ["dead", "replay", "x"],
        ["dead", "replay", "1"], ["dead", "show"], ["dead", "show", "x"], ["dead", "replay", "1-+0"],
        ["dead", "drop", "--yes"],
    ])
    func invalidLinesExitWith64(line: [String]) throws {
        let error = try #require(throws: (any Error).self) { try Fanfare.parseAsRoot(line) }
        #expect(Fanfare.exitCode(for: error).rawValue == 64)
    }

    @Test(arguments: [
        (send + ["--token", "a", "--titel", "x"], "--titel"), (send + ["--tokn", "a", "--title", "x"], "--tokn"),
        (["topic", "subscribe", "--topic", "t", "--tokens", "a"], "--tokens"),
        (["group", "create", "--nam", "n", "--name", "n"], "--nam"), (["dead", "drop", "--al"], "--al"),
    ])
    func unknownOptionIsReportedBeforeAMissingOne(line: [String], word: String) async throws {
        let error = try await #require(throws: (any Error).self) { try await Fanfare.parseCommand(line) }
        #expect(Fanfare.message(for: error).hasPrefix("Unknown option '\(word)'"), "\(Fanfare.message(for: error))")
    }

    @Test func helpOfEveryCommandHasAnExample() {
        func check(_ command: any ParsableCommand.Type, _ path: String) {
            let configuration = command.configuration
            guard configuration.shouldDisplay else { return }
            for sub in configuration.subcommands { check(sub, "\(path) \(sub.configuration.commandName ?? "")") }
            if configuration.subcommands.isEmpty { #expect(command.helpMessage().contains("\nExample"), "\(path)") }
        }
        check(Fanfare.self, "fanfare")
    }

    @Test func examplesInTheHelpFitATerminalOf80Columns() {
        func check(_ command: any ParsableCommand.Type) {
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                #expect(line.count <= 80, "\(line)")
            }
            for sub in command.configuration.subcommands { check(sub) }
        }
        check(Fanfare.self)
    }

    @Test(
        arguments: [
            (["sned"], "fanfare send"), (["job", "shwo", "j"], "fanfare job show"),
            (["proejct", "ls"], "fanfare project"),
            (["dead", "lst", "--json"], "fanfare dead ls"), (["push"], nil), (["-c", "f", "job"], nil),
            (["job", "show"], nil),
            (["send", "sned"], nil), ([String(repeating: "x", count: 100)], nil),
        ] as [([String], String?)]
    )
    func mistypedCommandGetsASuggestion(line: [String], suggestion: String?) {
        #expect(CommandHint.find(line) == suggestion)
    }

    @Test func suggestionFollowsTheParsersSentence() async throws {
        let run = try await CommandRun(["job", "shwo"])
        #expect(run.status == 64 && run.err.hasPrefix("Error: Unexpected argument"), "\(run.err)")
        #expect(run.err.contains("; did you mean `fanfare job show`?\nUsage: "), "\(run.err)")
    }

    @Test(arguments: [["job", "list"], ["project", "list"], ["dead", "list"], ["job", "status", "j"]])
    func otherNamesOfCommandsAreParsed(line: [String]) {
        #expect(throws: Never.self) { try Fanfare.parseAsRoot(line) }
    }

    @Test func versionIsAnOptionOfTheCommandItselfOnly() async throws {
        let run = try await CommandRun(["--version"])
        #expect(run.status == 0 && run.out == "\(FanfareVersion.current)\n", "\(run.out)\(run.err)")
        #expect(Fanfare.helpMessage().contains("--version"))
        #expect(!Fanfare.helpMessage(for: SendCommand.self).contains("--version"))
    }

    /// The option counts seconds; the field of the job that it sets counts milliseconds.
    @Test(arguments: ["0", "604801", "9223372036854775807"])
    func canaryWaitOutOfRangeIsReportedInSeconds(wait: String) throws {
        let line = Self.send + ["--token", "a", "--title", "x", "--canary", "1", "--canary-wait", wait]
        let error = try #require(throws: (any Error).self) { try Fanfare.parseAsRoot(line) }
        #expect(Fanfare.exitCode(for: error).rawValue == 64)
        #expect(Fanfare.message(for: error) == "--canary-wait: \(wait) is not 1 to 604800 seconds")
    }

    @Test func missingOptionIsReported() async throws {
        let line = Self.send + ["--token", "a"]
        let error = try await #require(throws: (any Error).self) { try await Fanfare.parseCommand(line) }
        #expect(Fanfare.message(for: error).hasPrefix("give a message"))
    }
}
