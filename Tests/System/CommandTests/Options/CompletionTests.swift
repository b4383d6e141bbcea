import Foundation
import TestSupport
import Testing

/// Completion scripts in their shells.
@Suite struct CompletionTests {
    private static let folder = CommandRun.executable.deletingLastPathComponent().path

    private func script(_ shell: String, in folder: TemporaryFolder) async throws -> String {
        let run = try await CommandRun(["--generate-completion-script", shell])
        try #require(run.status == 0 && !run.out.isEmpty)
        return try folder.write("fanfare.\(shell)", run.out)
    }

    /// The completions of bash for the last word of a line.
    private func offers(_ words: [String], environment: [String: String] = [:]) async throws -> [String] {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let script = try await script("bash", in: folder)
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let line = words.joined(separator: " ")
        let program = """
            source \(script)
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); COMP_LINE='\(line)'; COMP_POINT=\(line.utf8.count)
            COMP_TYPE=9; COMP_KEY=9
            _fanfare fanfare '\(words[words.count - 1])' '\(words[words.count - 2])'
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["--norc", "-c", program]
        var all = ProcessInfo.processInfo.environment
        all["PATH"] = Self.folder + ":" + (all["PATH"] ?? "")
        process.environment = all.merging(environment) { $1 }
        let output = makePipe()
        process.standardOutput = output
        try startProcess(process)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func bashOffersCommandsFlagsAndValues() async throws {
        #expect(try await offers(["fanfare", "do"]) == ["doctor"])
        #expect(try await offers(["fanfare", "doctor", "--on"]) == ["--online"])
        #expect(try await offers(["fanfare", "send", "--delivery", "at_m"]) == ["at_most_once"])
    }

    @Test func bashOffersFilesOfRecipientsAndVariants() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.write("users.csv", "token")
        let start = String(file.dropLast(3))
        for option in ["--recipients-file", "--variants", "--tokens-file"] {
            #expect(try await offers(["fanfare", "send", option, start]) == [file], "\(option)")
        }
        #expect(try await offers(["fanfare", "job", "preview", start]) == [file])
    }

    @Test func bashOffersProjectsAndJobs() async throws {
        let redis = try RedisServer()
        let file = try redis.folder.write(
            "fanfare.yaml",
            "redis: { url: \"unix://\(redis.socketPath)\" }\nprojects: { first: , second: }\n"
        )
        _ = try redis.cli("HSET", "fanfare:{first}:job:newsletter-7", "state", "active", "total", "1")
        _ = try redis.cli("SADD", "fanfare:{first}:jobs_open", "newsletter-7")
        let environment = ["FANFARE_CONFIG": file]
        #expect(try await offers(["fanfare", "project", "pause", "f"], environment: environment) == ["first"])
        #expect(try await offers(["fanfare", "job", "show", "--project", "s"], environment: environment) == ["second"])
        let jobs = ["fanfare", "job", "show", "--project", "first", "news"]
        #expect(try await offers(jobs, environment: environment) == ["newsletter-7"])
        for (entry, job) in [("1-0", "bad-1"), ("2-0", "bad-2")] {
            _ = try redis.cli("XADD", "fanfare:{first}:dead", entry, "job", job, "kind", "rejected", "f.token", "x")
        }
        for command in ["show", "replay", "drop"] {
            let line = ["fanfare", "dead", command, "--project", "first", ""]
            #expect(try await offers(line, environment: environment) == ["2-0", "1-0"], "\(command)")
        }
        let second = ["fanfare", "dead", "drop", "--project", "first", "2-0", ""]
        #expect(try await offers(second, environment: environment) == ["1-0"], "named already")
        let ofJob = ["fanfare", "dead", "replay", "--project", "first", "--job", "bad"]
        #expect(try await offers(ofJob, environment: environment) == ["bad-1", "bad-2"])
        // Nothing to offer is no error, and nothing is printed into the line.
        redis.kill9()
        #expect(try await offers(jobs, environment: environment).filter { !$0.isEmpty } == [])
        #expect(try await offers(["fanfare", "project", "pause", "x"]).filter { !$0.isEmpty } == [])
    }

    @Test(arguments: ["zsh", "fish"].filter { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") })
    func otherShellsParseTheirScripts(shell: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let script = try await script(shell, in: folder)
        #expect(throws: Never.self) { _ = try runProgram("/usr/bin/\(shell)", ["-n", script]) }
    }

    @Test func everyShellHasAScript() async throws {
        for (shell, start) in [("bash", "#!/bin/bash"), ("zsh", "#compdef fanfare"), ("fish", "function")] {
            let run = try await CommandRun(["--generate-completion-script", shell])
            #expect(run.status == 0 && run.out.hasPrefix(start), "\(shell): \(run.out.prefix(40))")
        }
    }
}
