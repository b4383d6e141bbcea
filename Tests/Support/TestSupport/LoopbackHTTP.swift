internal import Foundation

/// One persistent HTTP/1.1 connection to a server on loopback. Its methods block. Meant for small, frequent requests,
/// for which a `curl` process each would cost more than the test.
public final class LoopbackHTTP {
    private let descriptor: Int32
    private var received: [UInt8] = []

    public init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = (UInt16(exactly: port) ?? 0).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let reason = errno
            close(descriptor)
            throw TestFailure("cannot connect to port \(port): errno \(reason)")
        }
    }

    deinit { close(descriptor) }

    /// Sends a request and returns the body of the answer, for any status.
    public func request(_ method: String, _ path: String, _ body: String? = nil) throws -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        var rest = Array((head + "\r\n" + (body ?? "")).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw TestFailure("\(method) \(path): errno \(errno)") }
            rest = rest.dropFirst(count)
        }
        return try answer(to: "\(method) \(path)")
    }

    private func answer(to request: String) throws -> [UInt8] {
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
                let line = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                guard let length = line.flatMap({ Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }) else {
                    throw TestFailure("\(request): the answer has no content-length: \(head)")
                }
                if received.count >= end.upperBound + length {
                    let body = Array(received[end.upperBound..<end.upperBound + length])
                    received.removeFirst(end.upperBound + length)
                    return body
                }
            }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw TestFailure("\(request): the connection ended: errno \(errno)") }
            received += buffer[0..<count]
        }
    }
}
