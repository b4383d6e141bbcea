import EventLoop
import Foundation
import TestSupport
import Testing

/// A process of the product under test: its output, its signals and its exit status.
///
/// A process that ends by a signal that no test sent fails the test. So does one that ends by itself with another exit
/// status than 0, unless the test calls ``wait(seconds:)``, which returns the status.
final class ChildProcess: @unchecked Sendable {
    private struct Expectation {
        /// Signals that the test sent.
        var signals: Set<Int32> = []
        /// The test judges the exit status itself, or it was judged.
        var isJudged = false
    }

    // Unchecked: `Process` is not Sendable, but signals and waiting may come from any thread.
    private let process = Process()
    private let out: OutputFile
    private let err: OutputFile
    private let expectation = Locked(Expectation())

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
        try startProcess(process)
    }

    var pid: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    private var line: String {
        ([process.executableURL?.lastPathComponent ?? ""] + (process.arguments ?? [])).joined(separator: " ")
    }
    var stdout: String { out.text }
    var stderr: String { err.text }

    func signal(_ number: Int32) {
        expectation.withLock { _ = $0.signals.insert(number) }
        kill(pid, number)
    }

    /// Waits until the process ends. Kills it after the deadline and throws.
    ///
    /// - Returns: the exit status, or the negated signal that ended the process.
    func wait(seconds: Double = 60) async throws -> Int32 {
        let what = { "`\(self.line)` (process \(self.pid)) to end:\n\(self.stderr.suffix(4_000))" }
        try await Wait.until(what(), seconds: seconds, orElse: { self.signal(SIGKILL) }) { !self.process.isRunning }
        judgeEnd(isStatusReturned: true)
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// Records an issue if the process has ended as no test may let it end. Does nothing while it runs.
    ///
    /// - Parameter isStatusReturned: the caller judges the exit status.
    func judgeEnd(isStatusReturned: Bool = false) {
        guard !process.isRunning else { return }
        let (wasJudged, signals) = expectation.withLock { expectation in
            defer { expectation.isJudged = true }
            return (expectation.isJudged, expectation.signals)
        }
        guard !wasJudged else { return }
        let status = process.terminationStatus
        let isExpected: Bool
        if process.terminationReason == .exit {
            isExpected = isStatusReturned || status == 0
        } else {
            isExpected = signals.contains(status)
        }
        guard !isExpected else { return }
        let end = process.terminationReason == .exit ? "exit status \(status)" : "signal \(status)"
        Issue.record("\(line) ended unexpectedly by \(end):\n\(stderr.suffix(20_000))")
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

    deinit {
        judgeEnd()
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}

struct WaitError: Error, CustomStringConvertible {
    let what: String
    var description: String { "timed out waiting for \(what)" }
}

/// Polls a condition until it holds or the deadline passes; the error names the condition.
///
/// A deadline is there to end a test that hangs, not to judge a time: it is four times what a busy machine needs.
enum Wait {
    private static let patience = 4.0

    static func until(
        _ what: @autoclosure () -> String,
        seconds: Double = 30,
        everyMs: Int = 20,
        orElse: () -> Void = {},
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(patience * seconds)
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                orElse()
                throw WaitError(what: what())
            }
            try await Task.sleep(for: .milliseconds(everyMs))
        }
    }
}
