import Foundation
import TestSupport

@testable import fanfare

/// A run of the executable.
struct CommandRun: Sendable {
    var status: Int32
    var out: String
    var err: String

    static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("fanfare")

    /// A process without the variables of the caller's environment that Fanfare reads, and with an empty configuration
    /// instead of this machine's. `FANFARE_CONFIG=` in `environment` lets it look in the usual places.
    static func process(_ arguments: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        var all = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("FANFARE_") && $0.key != "REDIS_URL" && $0.key != "GOOGLE_APPLICATION_CREDENTIALS"
                && !$0.key.lowercased().hasSuffix("_proxy") && !ProcessProtection.removed.contains($0.key)
        }
        all["FANFARE_CONFIG"] = "/dev/null"
        all.merge(environment) { $1 }
        process.environment = all
        return process
    }

    /// Runs to the end, on a thread outside the pool that runs tests.
    /// A command that has not ended after five minutes is killed: what it printed says more than a test without an end.
    /// - Parameter folder: the working directory; nil for that of the tests.
    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String = "",
        folder: String? = nil
    ) async throws {
        self = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.run(arguments, environment, input, folder) })
            }
        }
    }

    private init(status: Int32, out: String, err: String) {
        self.status = status
        self.out = out
        self.err = err
    }

    private static func run(
        _ arguments: [String],
        _ environment: [String: String],
        _ input: String,
        _ workingFolder: String?
    ) throws -> CommandRun {
        // Files, not pipes: none of the three can block another.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String = "") throws -> URL {
            let url = folder.appendingPathComponent(name)
            try text.write(to: url, atomically: false, encoding: .utf8)
            return url
        }
        let (out, err) = (try file("out"), try file("err"))
        let process = process(arguments, environment: environment)
        if let workingFolder { process.currentDirectoryURL = URL(fileURLWithPath: workingFolder) }
        process.standardInput = try FileHandle(forReadingFrom: file("in", input))
        process.standardOutput = try FileHandle(forWritingTo: out)
        process.standardError = try FileHandle(forWritingTo: err)
        try startProcess(process)
        let pid = process.processIdentifier
        let limit = DispatchWorkItem { kill(pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: limit)
        process.waitUntilExit()
        limit.cancel()
        return CommandRun(
            status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
            out: try String(contentsOf: out, encoding: .utf8),
            err: try String(contentsOf: err, encoding: .utf8)
        )
    }
}
