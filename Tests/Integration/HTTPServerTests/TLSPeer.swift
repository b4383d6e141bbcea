import Foundation
import OpenSSLKit
import TestSupport

/// A client over TLS that decides how fast it sends and when it reads. Its calls block.
final class TLSPeer {
    private let session: TLSSession
    private let descriptor: Int32

    /// Connects to a port of this machine.
    init(port: Int, caFile: String) throws {
        session = try TLSSession(context: TLSContext(files: TLSFiles(caFile: caFile)), host: "localhost")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
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
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// - Parameter pieceBytes: bytes that go out at once.
    func shakeHands(pieceBytes: Int = .max) throws {
        while try !session.handshake() {
            try send(session.removeOutgoing(), pieceBytes: pieceBytes)
            guard try receive() else { throw TestFailure("closed during the handshake") }
        }
        try send(session.removeOutgoing(), pieceBytes: pieceBytes)
    }

    func write(_ bytes: [UInt8], pieceBytes: Int = .max) throws {
        try send(encrypt(bytes), pieceBytes: pieceBytes)
    }

    /// Reads text until the peer closes.
    func readToEnd() throws -> [UInt8] {
        var text: [UInt8] = []
        repeat {
            while true {
                guard let bytes = try decrypted() else {
                    session.shutdown()
                    try? send(session.removeOutgoing(), pieceBytes: .max)
                    return text
                }
                guard !bytes.isEmpty else { break }
                text += bytes
            }
        } while try receive()
        return text
    }

    /// Sends bytes as they are, and waits until the peer has closed the connection.
    func sendPlain(_ bytes: [UInt8]) throws {
        try send(bytes, pieceBytes: .max)
        shutdown(descriptor, Int32(SHUT_WR))
        var buffer = [UInt8](repeating: 0, count: 1_000)
        while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
    }

    /// Writes the same bytes again and again without reading, until the peer takes no more or `maximum` bytes are sent.
    /// Then reads, and writes the rest, until all of it has come back.
    ///
    /// - Returns: the bytes that were sent when the peer took no more.
    func writeBeforeReading(_ bytes: [UInt8], maximum: Int) throws -> Int {
        var (queue, sent, answered) = ([UInt8](), 0, 0)
        var blockedAt: Int?
        while answered < maximum {
            if queue.isEmpty, sent < maximum {
                queue = try encrypt(bytes)
                sent += bytes.count
            }
            let wantsRead = blockedAt != nil || sent >= maximum && queue.isEmpty
            var wanted = pollfd(fd: descriptor, events: 0, revents: 0)
            if !queue.isEmpty { wanted.events |= Int16(POLLOUT) }
            if wantsRead { wanted.events |= Int16(POLLIN) }
            let isReady = poll(&wanted, 1, 1_000) > 0
            if !isReady, blockedAt == nil { blockedAt = sent }
            if wanted.revents & Int16(POLLOUT) != 0 {
                let count = queue.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Self.noWait) }
                if count > 0 { queue.removeFirst(count) }
            }
            guard wanted.revents & Int16(POLLIN) != 0 else { continue }
            guard try receive() else { throw TestFailure("closed after \(answered) bytes") }
            while let text = try decrypted(), !text.isEmpty { answered += text.count }
        }
        return blockedAt ?? sent
    }

    private static let noWait = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)

    private func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
        try bytes.withUnsafeBytes { try session.write($0) }
        return session.removeOutgoing()
    }

    private func send(_ bytes: [UInt8], pieceBytes: Int) throws {
        var start = 0
        while start < bytes.count {
            let end = start + min(pieceBytes, bytes.count - start)
            let count = bytes[start..<end].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestFailure("send: errno \(errno)") }
            start += count
        }
    }

    /// - Returns: false when the connection has ended.
    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        try buffer[..<count].withUnsafeBytes { try session.feed($0) }
        return true
    }

    /// Text that has come; empty if more must come first, nil after the peer's close_notify.
    private func decrypted() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = try buffer.withUnsafeMutableBytes { try session.read(into: $0) }
        return count.map { Array(buffer[..<$0]) }
    }
}
