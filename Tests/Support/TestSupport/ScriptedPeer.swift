internal import EventLoop
internal import Foundation

/// A TCP server that runs a script for each connection, on a separate thread, so a script may block.
public final class ScriptedPeer: Sendable {
    /// One accepted connection, closed when the script returns.
    public final class Connection: Sendable {
        private let descriptor: Int32
        init(descriptor: Int32) { self.descriptor = descriptor }

        /// Reduces the kernel's receive buffer, which by default holds many megabytes.
        public func shrinkReceiveBuffer() {
            var size: Int32 = 1 << 16
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }

        /// Receives up to 64 KiB; empty at the end of the connection.
        public func receive() -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return Array(buffer.prefix(max(0, count)))
        }

        /// Receives until `text` has arrived; false at the end of the connection.
        @discardableResult
        public func receive(until text: String) -> Bool {
            var seen: [UInt8] = []
            while seen.firstRange(of: Array(text.utf8)) == nil {
                let bytes = receive()
                if bytes.isEmpty { return false }
                seen += bytes
            }
            return true
        }

        public func send(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        public func send(_ text: String) { send(Array(text.utf8)) }

        /// Blocks until the peer closes the connection.
        public func waitForEnd() { while !receive().isEmpty {} }
    }

    public let port: UInt16
    private let listener: Int32
    private let accepted = Locked(0)

    /// Number of connections accepted so far.
    public var connectionCount: Int { accepted.withLock { $0 } }

    /// - Parameter script: called with each connection and its number, from 0.
    public init(_ script: @escaping @Sendable (Connection, Int) -> Void) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("cannot listen: errno \(errno)") }
        listener = descriptor
        port = UInt16(bigEndian: address.sin_port)
        let accepted = accepted
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                let number = accepted.withLock { count in
                    defer { count += 1 }
                    return count
                }
                Thread.detachNewThread {
                    script(Connection(descriptor: connection), number)
                    close(connection)
                }
            }
        }
    }

    deinit { stop() }

    /// Accepts no more connections. Safe to call twice.
    public func stop() {
        // `shutdown` wakes the accept; a close would not. The descriptor stays open until the process ends, so that
        // the thread never accepts on a reused number.
        shutdown(listener, Int32(SHUT_RDWR))
    }
}
