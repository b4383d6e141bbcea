internal import Foundation

/// A temporary folder, deleted by `remove()` or with its last reference. Its path is short, because a unix socket's
/// path has at most 107 bytes.
public final class TemporaryFolder: Sendable {
    public let path: String

    public init() throws {
        var template = Array("/tmp/ff-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw TestFailure("mkdtemp: errno \(errno)") }
        path = String(cString: made)
    }

    deinit { remove() }

    public func file(_ name: String) -> String { path + "/" + name }

    public func write(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }

    public func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// An error of a test's environment, not of the code under test.
public struct TestFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Runs a program to its end and returns what it wrote to standard output.
@discardableResult
public func runProgram(_ path: String, _ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let (stdin, stdout, stderr) = (makePipe(), makePipe(), makePipe())
    process.standardInput = stdin
    process.standardOutput = stdout
    process.standardError = stderr
    try startProcess(process)
    // Pipes do not fill up, because these programs read and write little.
    try stdin.fileHandleForWriting.write(contentsOf: Data(input))
    try stdin.fileHandleForWriting.close()
    let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
    let errors = try stderr.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        throw TestFailure("\(path) \(arguments): \(String(decoding: errors, as: UTF8.self))")
    }
    return [UInt8](output)
}
