import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite(.serialized) struct DemoTests {
    @Test func guideQuotesForAShellAndNamesWhatRuns() {
        var guide = SystemGuide(
            file: "/tmp/a b/fanfare.yaml",
            socket: "/tmp/a b/redis.sock",
            project: "demo",
            controlPort: 2,
            program: "fanfare"
        )
        let text = guide.lines.joined(separator: "\n")
        #expect(text.contains("  fanfare send -c '/tmp/a b/fanfare.yaml' --project demo --token "), "\(text)")
        #expect(!text.contains("open http"))
        guide.dashboardPort = 3
        #expect(guide.lines.last == "  or open http://127.0.0.1:3")
        #expect(SystemGuide.quoted("it's") == #"'it'\''s'"# && SystemGuide.quoted("/a/b-1.yaml") == "/a/b-1.yaml")
    }

    /// The commands that `demo --stay` prints work as they are.
    @Test(.timeLimit(.minutes(10))) func demoThatStaysTakesMoreJobs() async throws {
        let process = CommandRun.process(["demo", "--tokens", "2", "--stay"])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let log = try folder.write("err", "")
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try startProcess(process)
        defer { if process.isRunning { process.terminate() } }
        func said() throws -> [String] {
            try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        }
        while !(try said().contains { $0.hasPrefix("  or open http") }) {
            let text = try said()
            try #require(process.isRunning, "\(text)")
            try await Task.sleep(for: .milliseconds(50))
        }
        let commands = try said().filter { $0.hasPrefix("  ") }.map { $0.trimmingCharacters(in: .whitespaces) }
        func run(_ start: String) async throws -> String {
            let command = try #require(commands.first { $0.contains(start) }, "\(commands)")
            return try await Self.shell(command)
        }
        // `--wait` fails unless the phone got its message.
        let sent = try await run(" send -c ")
        #expect(sent.hasSuffix("-0\n"), "\(sent)")
        #expect(try await run("redis-cli -s ").contains("-0"))
        // The second job was pushed without waiting for it.
        while try await run("curl ").split(separator: "\n").count < 2 { try await Task.sleep(for: .milliseconds(50)) }
        let file = try #require(commands[0].split(separator: " ").first { $0.hasSuffix("/fanfare.yaml") })
        let check = try await CommandRun(["config", "check", "-c", String(file)])
        #expect(check.status == 0 && check.err.isEmpty, "\(check.err)")
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(!FileManager.default.fileExists(atPath: String(file)))
    }

    /// Runs a command line on a thread outside the pool that runs tests; returns its output.
    static func shell(_ command: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result { String(decoding: try runProgram("/bin/sh", ["-c", command]), as: UTF8.self) }
                )
            }
        }
    }

    /// Starts the demo and returns its folder.
    private func start(_ tokens: Int) async throws -> (process: Process, folder: String, err: OutputFile) {
        let process = CommandRun.process(["demo", "--tokens", "\(tokens)"])
        let err = try OutputFile()
        process.standardError = err.writing
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try startProcess(process)
        while !err.text.contains("\n"), process.isRunning { try await Task.sleep(for: .milliseconds(20)) }
        let line = err.text
        let url = try #require(line.split(separator: "\n").first?.split(separator: " ").last)
        #expect(url.hasPrefix("unix://"))
        return (process, String(url.dropFirst(7).dropLast("/redis.sock".count)), err)
    }

    private func isGone(_ folder: String, within seconds: Double) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if !FileManager.default.fileExists(atPath: folder) { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test(.timeLimit(.minutes(10))) func demoGivesEveryRecipientTheExpectedResult() async throws {
        let run = try await CommandRun(["demo", "--tokens", "1000"])
        #expect(run.status == 0, "\(run.out)\(run.err)")
        #expect(run.out.contains("Every recipient ended as it should."))
        #expect(run.out.contains("failed  UNREGISTERED            remove                   20"))
        let speed = try #require(run.out.split(separator: "\n").last)
        #expect(
            speed.contains(" recipients a second, ") && speed.contains(" per CPU-second of the worker (engine curl, ")
        )
        #expect(!run.err.contains("\u{1B}"))
        let folder = try #require(run.err.split(separator: "\n").first?.split(separator: " ").last?.dropFirst(7))
        #expect(!FileManager.default.fileExists(atPath: String(folder.dropLast("/redis.sock".count))))
    }

    @Test(.timeLimit(.minutes(10))) func demoSendsWithTheNamedEngineAndPrintsJSON() async throws {
        let run = try await CommandRun(["demo", "--tokens", "100", "--engine", "nghttp2", "--json"])
        #expect(run.status == 0, "\(run.err)")
        #expect(
            run.out.contains(#""engine":"nghttp2","build":""#) && run.out.contains(#""recipients_per_cpu_second":"#),
            "\(run.out)"
        )
    }

    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM])
    func interruptedDemoRemovesItsFolder(signal: Int32) async throws {
        let (process, folder, err) = try await start(100_000)
        #expect(FileManager.default.fileExists(atPath: folder))
        kill(process.processIdentifier, signal)
        #expect(try await isGone(folder, within: 60))
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 128 + signal)
        let words = err.text.split(separator: "\n").filter { $0.hasPrefix("fanfare: ") || $0.contains("ERROR") }
        #expect(words == ["fanfare: interrupted; everything is stopped and removed"], "\(err.text)")
    }

    @Test(.timeLimit(.minutes(10))) func killedDemoRemovesItsFolder() async throws {
        let (process, folder, _) = try await start(100_000)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(try await isGone(folder, within: 30))
    }
}
