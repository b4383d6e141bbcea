import Foundation
import Glibc
import TestSupport
import Testing

/// A server program on a free port of loopback, with a folder of its own, for the length of one test.
final class ServerProgram {
    /// A child inherits the signal mask of a thread that blocks every signal. This removes the mask, then runs the program.
    private static let launcher =
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); os.execv(sys.argv[1], sys.argv[1:])"

    let port: Int
    private let directory: String
    private let process = Process()

    /// - Parameters:
    ///   - path: where Debian installs the program.
    ///   - configuration: the text of the file `conf` in the folder.
    ///   - arguments: the command line. Standard output goes to the file `out` in the folder.
    init(
        _ path: String,
        configuration: (_ directory: String, _ port: Int) throws -> String = { _, _ in "" },
        arguments: (_ directory: String, _ port: Int) throws -> [String]
    ) throws {
        directory = try makeTemporaryDirectory("server")
        port = try Self.freePort()
        try Data(configuration(directory, port).utf8).write(to: URL(fileURLWithPath: directory + "/conf"))
        try Data().write(to: URL(fileURLWithPath: directory + "/out"))
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", Self.launcher, path] + (try arguments(directory, port))
        process.standardOutput = FileHandle(forWritingAtPath: directory + "/out")
        process.standardError = FileHandle.nullDevice
        try startProcess(process)
        let deadline = Date(timeIntervalSinceNow: 10)
        while !Self.isOpen(port), Date() < deadline { usleep(2_000) }
    }

    deinit {
        // It was never started if `init` threw.
        if process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    var url: String { "https://localhost:\(port)/v1/projects/p/messages:send" }

    /// Has the server read its configuration again and replace its workers.
    func reload() { kill(process.processIdentifier, SIGHUP) }

    func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: directory + "/" + file) }

    /// How many lines of a log contain a text. A server writes the last lines after the answers are out, so a count below
    /// the expected one is repeated for up to 5 s.
    func count(_ text: String, in file: String, expecting expected: Int) throws -> Int {
        let deadline = Date(timeIntervalSinceNow: 5)
        while true {
            let log = try String(contentsOfFile: directory + "/" + file, encoding: .utf8)
            let count = log.split(separator: "\n").count { $0.contains(text) }
            if count >= expected || Date() >= deadline { return count }
            usleep(5_000)
        }
    }

    private static func freePort() throws -> Int {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var address = sockaddr_in()
        let code = withAddress(of: 0, &address) { bind(fd, $0, length) == 0 ? getsockname(fd, $0, &length) : -1 }
        try #require(code == 0)
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func isOpen(_ port: Int) -> Bool {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_in()
        return withAddress(of: port, &address) { connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
    }

    private static func withAddress(
        of port: Int,
        _ address: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
    ) -> Int32 {
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
