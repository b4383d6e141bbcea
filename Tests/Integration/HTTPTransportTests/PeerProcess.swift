import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Tests/Support/Fixtures/peer/peer.py as a child process. It ends with its standard input.
final class PeerProcess: Sendable {
    /// Processes of the plain kind that no test uses at the moment; starting one takes 0.2 s.
    private static let idle = Mutex<[PeerProcess]>([])

    let port: Int
    private let process = Process()
    private let input = makePipe()
    private let output = makePipe()

    init(_ arguments: [String], certificate: Certificates.Pair) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        let files = ["--cert", certificate.certificate, "--key", certificate.key]
        process.arguments = [Repository.fixture("peer/peer.py")] + files + arguments
        process.standardInput = input
        process.standardOutput = output
        try startProcess(process)
        let line = Self.line(from: output)
        port = try #require(Int(line.dropFirst("port ".count)), "the peer said \(line)")
    }

    deinit {
        input.fileHandleForWriting.closeFile()
        process.waitUntilExit()
    }

    /// An idle process, or a new one with the tests' server certificate.
    static func plain() throws -> PeerProcess {
        if let process = idle.withLock({ $0.popLast() }) { return process }
        return try PeerProcess([], certificate: try Certificates.shared.get().server)
    }

    /// Keeps a process that ``plain()`` returned for the next test.
    static func reuse(_ process: PeerProcess) { idle.withLock { $0.append(process) } }

    @discardableResult
    func command(_ json: String) -> String {
        input.fileHandleForWriting.write(Data((json + "\n").utf8))
        return Self.line(from: output)
    }

    private static func line(from pipe: Pipe) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // Read by hand: a file handle's own reading waits until its buffer is full.
        while bytes.last != UInt8(ascii: "\n") {
            let count = Glibc.read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            if count <= 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }
}
