import Foundation
import TestSupport

/// Runs a program to its end on threads of its own: the servers under test live in the same process, and a test that
/// blocked the shared pool would starve them.
enum Command {
    struct Result: Sendable {
        var exitCode: Int32
        var output: String
    }

    static func run(_ path: String, _ arguments: [String], input: String = "") async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Swift.Result { try wait(path, arguments, input: input) })
            }
        }
    }

    private static func wait(_ path: String, _ arguments: [String], input: String) throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let source = makePipe()
        let output = makePipe()
        process.standardInput = source
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try startProcess(process)
        // Written while the output is read, or two full pipes wait for each other.
        let writer = source.fileHandleForWriting
        Thread.detachNewThread {
            try? writer.write(contentsOf: Data(input.utf8))
            try? writer.close()
        }
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(exitCode: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}
