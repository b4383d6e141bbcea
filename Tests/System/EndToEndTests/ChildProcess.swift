import Foundation
import TestSupport

/// A process of the product under test: its output, its signals and its exit status.
final class ChildProcess: @unchecked Sendable {
    // Unchecked: `Process` is not Sendable, but signals and waiting may come from any thread.
    private let process = Process()
    private let out: OutputFile
    private let err: OutputFile

    /// The `fanfare` executable: `FANFARE_BIN`, or the one built beside the tests.
    static let executable: URL = {
        if let path = ProcessInfo.processInfo.environment["FANFARE_BIN"] { return URL(fileURLWithPath: path) }
        return URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("fanfare")
    }()

    init(_ arguments: [String], environment: [String: String] = [:], executable: URL = ChildProcess.executable) throws {
        process.executableURL = executable
        process.arguments = arguments
        var all = ProcessInfo.processInfo.environment
        for name in ["REDIS_URL", "FANFARE_REDIS_URL", "GOOGLE_APPLICATION_CREDENTIALS"] { all[name] = nil }
        all.merge(environment) { $1 }
        process.environment = all
        process.standardInput = FileHandle.nullDevice
        out = try OutputFile()
        err = try OutputFile()
        process.standardOutput = out.writing
        process.standardError = err.writing
        try process.run()
    }

    var pid: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    var stdout: String { out.text }
    var stderr: String { err.text }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Waits until the process ends. Kills it after the deadline and throws.
    ///
    /// - Returns: the exit status, or the negated signal that ended the process.
    func wait(seconds: Double = 60) async throws -> Int32 {
        try await Wait.until("process \(pid) to end", seconds: seconds, orElse: { self.signal(SIGKILL) }) {
            !self.process.isRunning
        }
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// Waits until standard output contains `text` and ends with a newline.
    func printed(_ text: String, seconds: Double = 30) async throws {
        try await Wait.until("'\(text)' from \(pid):\n\(stderr.suffix(2_000))", seconds: seconds) {
            guard self.process.isRunning || self.stdout.contains(text) else {
                throw WaitError(what: "process \(self.pid) ended without '\(text)': \(self.stderr.suffix(2_000))")
            }
            return self.stdout.contains(text) && self.stdout.hasSuffix("\n")
        }
    }

    /// Waits until the log (standard error) contains `text`.
    func logged(_ text: String, seconds: Double = 30) async throws {
        try await Wait.until("'\(text)' in the log of \(pid):\n\(stderr.suffix(2_000))", seconds: seconds) {
            if !self.process.isRunning, !self.stderr.contains(text) {
                throw WaitError(what: "process \(self.pid) ended without '\(text)': \(self.stderr.suffix(2_000))")
            }
            return self.stderr.contains(text)
        }
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
}

struct WaitError: Error, CustomStringConvertible {
    let what: String
    var description: String { "timed out waiting for \(what)" }
}

/// Polls a condition until it holds or the deadline passes; the error names the condition.
enum Wait {
    static func until(
        _ what: @autoclosure () -> String,
        seconds: Double = 30,
        everyMs: Int = 20,
        orElse: () -> Void = {},
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                orElse()
                throw WaitError(what: what())
            }
            try await Task.sleep(for: .milliseconds(everyMs))
        }
    }
}
