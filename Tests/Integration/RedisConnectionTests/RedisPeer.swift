import EventLoop
import TestSupport

/// A peer that speaks Redis: the test gives the answer to each command.
final class RedisPeer: Sendable {
    private let peer: ScriptedPeer
    private let seen = Locked<[[String]]>([])

    var port: UInt16 { peer.port }
    /// Every command except the greeting's, in the order of arrival.
    var commands: [[String]] { seen.withLock { $0 } }

    /// - Parameter answer: the reply in Redis' own words, such as `+OK`; nil hangs up. Not asked about the greeting, unless
    ///   it is `ROLE`.
    init(_ answer: @escaping @Sendable ([String]) -> String?) throws {
        let seen = seen
        peer = try ScriptedPeer { connection, _ in
            var buffer: [UInt8] = []
            while true {
                while let command = Self.take(&buffer) {
                    switch command.first {
                    case "PING": connection.send("+PONG\r\n")
                    case "AUTH", "CLIENT", "SELECT": connection.send("+OK\r\n")
                    default:
                        seen.withLock { $0.append(command) }
                        guard let reply = answer(command) else { return }
                        connection.send(reply + "\r\n")
                    }
                }
                let bytes = connection.receive()
                if bytes.isEmpty { return }
                buffer += bytes
            }
        }
    }

    func stop() { peer.stop() }

    static func array(_ words: [String]) -> String {
        "*\(words.count)" + words.map { "\r\n$\($0.utf8.count)\r\n\($0)" }.joined()
    }

    /// `CLUSTER SLOTS` of a cluster where one node has everything.
    static func map(_ port: UInt16) -> String {
        "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:\(port)\r\n$2\r\nid"
    }

    /// One whole command from the front, if it is there.
    private static func take(_ buffer: inout [UInt8]) -> [String]? {
        var rest = buffer[...]
        func line() -> String? {
            guard let end = rest.firstIndex(of: 13), end + 1 < rest.endIndex else { return nil }
            defer { rest = rest[(end + 2)...] }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard let head = line(), let count = Int(head.dropFirst()) else { return nil }
        var words: [String] = []
        for _ in 0..<count {
            guard let head = line(), let length = Int(head.dropFirst()), rest.count >= length + 2 else { return nil }
            words.append(String(decoding: rest.prefix(length), as: UTF8.self))
            rest = rest.dropFirst(length + 2)
        }
        buffer = Array(rest)
        return words
    }
}
