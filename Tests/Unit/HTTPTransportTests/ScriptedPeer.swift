import Foundation
import Glibc
import TestSupport
import Testing

/// Tests/Support/Fixtures/peer/peer.py as a child process; its head says what it can play.
final class ScriptedPeer {
    struct Entry: Decodable {
        let connection: Int
        let path: String
        let body: String
        let complete: Bool
        let action: String
        let headers: [[String]]

        private enum CodingKeys: CodingKey { case connection, path, body, complete, action, headers }
    }
    struct Ledger: Decodable {
        let requests: [Entry]
        let connections: Int

        /// How often each body arrived in full, by body.
        var received: [String: Int] {
            Dictionary(requests.filter(\.complete).map { ($0.body, 1) }, uniquingKeysWith: +)
        }
        /// Of those the peer processed: answered, or took and left without an answer.
        var processed: [String: Int] {
            let entries = requests.filter { $0.complete && $0.action != "refuse" && $0.action != "ignored" }
            return Dictionary(entries.map { ($0.body, 1) }, uniquingKeysWith: +)
        }
    }

    let port: Int
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(rules: String = "[]", certificate: Certificates.Pair? = nil, arguments: [String] = []) throws {
        let pair = try certificate ?? Certificates.shared.get().server
        let script = Repository.fixture("peer/peer.py")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments =
            [script, "--cert", pair.certificate, "--key", pair.key, "--rules", rules] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = Self.line(from: output)
        port = try #require(Int(line.dropFirst("port ".count)), "the peer said \(line)")
    }

    deinit {
        input.fileHandleForWriting.closeFile()
        process.waitUntilExit()
    }

    var url: String { "https://localhost:\(port)/v1/projects/p/messages:send" }

    @discardableResult
    func command(_ json: String) -> String {
        input.fileHandleForWriting.write(Data((json + "\n").utf8))
        return Self.line(from: output)
    }

    func script(_ rules: String) { command(#"{"do":"rules","rules":\#(rules)}"#) }

    func ledger() throws -> Ledger {
        try JSONDecoder().decode(Ledger.self, from: Data(command(#"{"do":"ledger"}"#).utf8))
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
