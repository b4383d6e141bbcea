import Foundation
import Glibc
import TestSupport
import Testing

@testable import fanfare

/// `fanfare up` as a user runs it: from an empty folder, killed in parts, stopped, and started again.
@Suite(.serialized) struct UpTests {
    /// One run of the command in a folder.
    private final class Run {
        let process: Process
        let log: String

        init(_ folder: String, _ arguments: [String], log: String) throws {
            self.log = log
            process = CommandRun.process(["up", "--state", folder] + arguments, environment: ["FANFARE_CONFIG": ""])
            try Data().write(to: URL(fileURLWithPath: log))
            process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
            process.standardOutput = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            // No configuration of this machine's.
            process.currentDirectoryURL = URL(fileURLWithPath: folder).deletingLastPathComponent()
            try startProcess(process)
        }

        var said: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

        func said(_ text: String, times: Int = 1) async throws {
            while said.components(separatedBy: text).count <= times {
                try #require(process.isRunning, "\(said)")
                try await Task.sleep(for: .milliseconds(50))
            }
        }

        /// The command of the guide that contains a text, without its indentation.
        func command(_ text: String) throws -> String {
            let line = said.split(separator: "\n").first { $0.hasPrefix("  ") && $0.contains(text) }
            return try #require(line, "\(said)").trimmingCharacters(in: .whitespaces)
        }

        func ended() async throws -> Int32 {
            while process.isRunning { try await Task.sleep(for: .milliseconds(50)) }
            return process.terminationStatus
        }
    }

    private static func ports() throws -> [String] {
        let ports = try (0..<4).map { _ in String(try RedisServer.freePort()) }
        return ["--dashboard", "127.0.0.1:\(ports[0])", "--sandbox-port", ports[1], "--control-port", ports[2]]
            + ["--gateway", "127.0.0.1:\(ports[3])"]
    }

    /// Processes whose command line contains both texts.
    private static func processes(_ program: String, _ folder: String) throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.filter { pid in
            let line = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/cmdline"))) ?? Data()
            let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            let isShell = words.first?.hasSuffix("/sh") ?? true
            return !isShell && words.contains { program.isEmpty || $0.contains(program) }
                && words.contains { $0.contains(folder) }
        }
    }

    @Test(.timeLimit(.minutes(10))) func systemSurvivesDeathsAndARestart() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // A name that is no part of a URL, and no text of YAML, as it is.
        let state = folder.path + #"/s t%41#?\z"#
        let ports = try Self.ports()
        let first = try Run(state, ports, log: folder.path + "/first")
        try await first.said("or open http")
        // `--wait` fails unless the phone got its message.
        let job = try await DemoTests.shell(try first.command(" send ")).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(job.hasSuffix("-0"))
        // The same through the gateway, with the key that is shown once.
        let pushing = try first.command("messages:send").dropLast() + first.command("Authorization: Bearer ffk_")
        let pushed = try await DemoTests.shell("\(pushing) --silent --show-error")
        #expect(pushed.contains("projects/my-app/messages/0:"), "\(pushed)")

        let worker = try #require(try Self.processes("worker", state).first)
        kill(worker, SIGKILL)
        try await first.said("the worker was killed by signal 9: it starts again in 1 s")
        let redis = try #require(try Self.processes("redis-server", state).first)
        kill(redis, SIGKILL)
        try await first.said("the redis was killed by signal 9")
        #expect(try await DemoTests.shell(try first.command(" send ")).hasSuffix("-0\n"))

        first.process.terminate()
        #expect(try await first.ended() == 0, "\(first.said)")
        #expect(try Self.processes("", state).isEmpty)

        let second = try Run(state, ports, log: folder.path + "/second")
        try await second.said("or open http")
        #expect(!second.said.contains("ffk_") && second.said.contains(" gateway key add "))
        let file = SystemGuide.quoted(state + "/fanfare.yaml")
        let fanfare = SystemGuide.quoted(CommandRun.executable.path)
        let shown = try await DemoTests.shell("\(fanfare) job show \(job) -c \(file)")
        #expect(shown.contains("done"), "the state survived: \(shown)")

        // No process is left behind when the command itself is killed.
        kill(second.process.processIdentifier, SIGKILL)
        _ = try await second.ended()
        while try !Self.processes("", state).isEmpty { try await Task.sleep(for: .milliseconds(50)) }
    }

    @Test(.timeLimit(.minutes(5))) func takenAddressAndTakenFolderEndTheStart() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let ports = try Self.ports()
        let first = try Run(folder.path + "/s", ports, log: folder.path + "/first")
        try await first.said("or open http")
        let same = try Run(folder.path + "/s", ports, log: folder.path + "/same")
        #expect(try await same.ended() == 69)
        #expect(same.said.contains("another `fanfare up` uses it"))
        let other = try Run(folder.path + "/t", ports, log: folder.path + "/other")
        #expect(try await other.ended() == 69)
        #expect(other.said.contains("is taken: choose another with --dashboard"), "\(other.said)")
        first.process.interrupt()
        #expect(try await first.ended() == 0)
    }
}
