internal import Foundation

/// As much of a Redis client as pushing a job and reading a hash takes. Blocking; one command at a time.
final class RESPClient {
    enum Value: Equatable {
        case text(String)
        case integer(Int)
        case array([Value])
        case null
    }

    private let fd: Int32
    private var buffer: [UInt8] = []
    private var position = 0

    init(socketPath: String, timeoutSeconds: Int) throws {
        fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { target in
            guard socketPath.utf8.count < target.count else { return false }
            target.copyBytes(from: socketPath.utf8)
            return true
        }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard fits, code == 0 else {
            close(fd)
            throw BenchError.unavailable("redis-server does not answer on \(socketPath)")
        }
    }

    deinit { close(fd) }

    @discardableResult
    func send(_ words: String...) throws -> Value { try send(words) }

    @discardableResult
    func send(_ words: [String]) throws -> Value {
        try write(Self.bytes(words))
        return try reply()
    }

    /// Commands without waiting for each other's reply; one that fails is an error. A thousand at most: nothing is read
    /// before all are written.
    /// - Returns: a reply for each.
    @discardableResult
    func pipeline(_ commands: [[String]]) throws -> [Value] { try pipeline(encoded: commands.map(Self.bytes)) }

    /// The same with each command as ``bytes(_:)`` encodes it.
    @discardableResult
    func pipeline(encoded commands: some Collection<[UInt8]>) throws -> [Value] {
        try write(commands.reduce(into: []) { $0 += $1 })
        return try commands.map { _ in try reply() }
    }

    /// Writes a command; ``reply(within:)`` reads its reply.
    func write(_ words: [String]) throws { try write(Self.bytes(words)) }

    /// nil when no reply arrives in so many milliseconds.
    func reply(within milliseconds: Int32) throws -> Value? {
        var event = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        guard position < buffer.count || poll(&event, 1, milliseconds) > 0 else { return nil }
        return try reply()
    }

    static func bytes(_ words: [String]) -> [UInt8] {
        var request = Array("*\(words.count)\r\n".utf8)
        for word in words {
            request += "$\(word.utf8.count)\r\n".utf8
            request += word.utf8
            request += [13, 10]
        }
        return request
    }

    private func write(_ request: [UInt8]) throws {
        var written = 0
        while written < request.count {
            let count = request[written...].withUnsafeBytes { Foundation.write(fd, $0.baseAddress, $0.count) }
            guard count > 0 else { throw BenchError.failed("redis-server went away") }
            written += count
        }
    }

    private func reply() throws -> Value {
        let line = try line()
        let rest = String(line.dropFirst())
        switch line.first {
        case "+": return .text(rest)
        case "-": throw BenchError.failed("Redis: \(rest)")
        case ":": return .integer(Int(rest) ?? 0)
        case "$":
            guard let length = Int(rest), length >= 0 else { return .null }
            while buffer.count - position < length + 2 { try fill() }
            defer { position += length + 2 }
            return .text(String(decoding: buffer[position..<(position + length)], as: UTF8.self))
        case "*":
            guard let count = Int(rest), count >= 0 else { return .null }
            return .array(try (0..<count).map { _ in try reply() })
        default: throw BenchError.failed("Redis answered what is not RESP: \(line)")
        }
    }

    private func line() throws -> String {
        while true {
            if let end = buffer[position...].firstIndex(of: 13), end + 1 < buffer.count {
                defer { position = end + 2 }
                return String(decoding: buffer[position..<end], as: UTF8.self)
            }
            try fill()
        }
    }

    private func fill() throws {
        buffer.removeFirst(position)
        position = 0
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(fd, &chunk, chunk.count)
        guard count > 0 else { throw BenchError.failed("redis-server does not answer") }
        buffer += chunk[..<count]
    }
}
