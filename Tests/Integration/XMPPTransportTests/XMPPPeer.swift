import Foundation
import Glibc
import TestSupport
import Testing

/// Tests/Support/Fixtures/xmpp/peer.py as a child process; its head says what it can play.
final class XMPPPeer {
    struct Ledger: Decodable {
        struct Message: Decodable {
            let connection: Int
            let to: String
            let id: String
            let stanza: String
        }
        struct Ack: Decodable, Equatable {
            let connection: Int
            let to: String
            let messageID: String

            private enum CodingKeys: String, CodingKey {
                case connection, to
                case messageID = "message_id"
            }
        }
        let connections: Int
        let messages: [Message]
        let acks: [Ack]
        let blanks: Int
        let users: [String]
        let sessions: Int
        let footers: Int

        /// How often each message came, by id.
        var received: [String: Int] { Dictionary(messages.map { ($0.id, 1) }, uniquingKeysWith: +) }
    }

    /// For 127.0.0.1 and localhost, by a private authority.
    static let certificates = Result { try Certificates() }
    static let identity = Result { try certificates.get().issue("server", names: ["DNS:localhost", "IP:127.0.0.1"]) }

    let port: Int
    private let process = Process()
    private let input = makePipe()
    private let output = makePipe()

    init(_ scripts: String = "[{}]", identity: Certificates.Identity? = nil) throws {
        let pair = try identity ?? Self.identity.get()
        let script = Repository.fixture("xmpp/peer.py")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [script, "--cert", pair.certFile, "--key", pair.keyFile, "--scripts", scripts]
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

    @discardableResult
    func command(_ json: String) -> String {
        input.fileHandleForWriting.write(Data((json + "\n").utf8))
        return Self.line(from: output)
    }

    /// Writes text on the newest connection, or on the one of that number.
    func send(_ xml: String, connection: Int? = nil) throws {
        struct Command: Encodable {
            let `do` = "send"
            let xml: String
            let connection: Int?
        }
        let data = try JSONEncoder().encode(Command(xml: xml, connection: connection))
        command(String(decoding: data, as: UTF8.self))
    }

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
