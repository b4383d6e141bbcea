import Foundation
import TestSupport

/// A client of one plain connection that sends what it likes. Its calls block, for 60 s at most.
final class RawPeer {
    struct Answer {
        var status = 0
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    /// Whether the server was silent for 60 s.
    private(set) var wasSilent = false
    private let descriptor: Int32
    private var received: [UInt8] = []

    /// - Parameter receiveBuffer: of the kernel, bytes; nil for the usual one.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestFailure("connect: errno \(errno)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        guard sendAsFarAsItGoes(bytes, flags: 0) == bytes.count else { throw TestFailure("send: errno \(errno)") }
    }

    /// Sends without waiting for the server to read.
    /// - Returns: the bytes that were taken.
    func sendUntilBlocked(_ bytes: [UInt8]) -> Int {
        var taken = 0
        while taken < bytes.count {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&wanted, 1, 1_000) > 0 else { break }
            let count = sendAsFarAsItGoes(Array(bytes[taken...].prefix(1 << 20)), flags: Int32(MSG_DONTWAIT))
            if count == 0 { break }
            taken += count
        }
        return taken
    }

    private func sendAsFarAsItGoes(_ bytes: [UInt8], flags: Int32) -> Int {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | flags)
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return bytes.count - rest.count
    }

    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// - Returns: false at the end of the connection.
    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK {
            wasSilent = true
            throw TestFailure("the server is silent for 60 s")
        }
        received += buffer.prefix(max(0, count))
        return count > 0
    }

    /// Everything until the server closes.
    func readToEnd() throws -> [UInt8] {
        while try receive() {}
        defer { received = [] }
        return received
    }

    /// The next bytes.
    func read(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            guard try receive() else { throw TestFailure("the connection ended after \(received.count) of \(count)") }
        }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// The head of an answer of HTTP/1.1, and a body with a length.
    func answer() throws -> Answer {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                received.removeFirst(end.upperBound)
                var answer = Answer(status: Int(lines[0].split(separator: " ")[1]) ?? 0)
                for line in lines.dropFirst() {
                    let sides = line.components(separatedBy: ": ")
                    answer.headers[sides[0].lowercased()] = sides[1]
                }
                answer.body = try read(Int(answer.headers["content-length"] ?? "") ?? 0)
                return answer
            }
            guard try receive() else { throw TestFailure("the connection ended: \(received)") }
        }
    }
}
