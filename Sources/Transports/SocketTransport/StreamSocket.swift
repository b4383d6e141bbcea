internal import EventLoop
internal import FanfareModel
internal import Glibc

/// A non-blocking stream socket. Its system calls throw their errors as values.
public final class StreamSocket {
    public let fd: Int32
    private var isOpen = true

    /// Starts to connect. The socket becomes writable when that succeeds or fails: then call ``connectResult()``.
    ///
    /// - Parameter userTimeoutMs: TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged.
    public init(connectingTo address: SocketAddress, userTimeoutMs: Int32) throws(SocketError) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        fd = socket(address.family, kind, 0)
        guard fd >= 0 else {
            isOpen = false
            throw Self.failure("socket")
        }
        if address.family != AF_UNIX { configure(userTimeoutMs: userTimeoutMs) }
        let result = address.bytes.withUnsafeBytes { bytes in
            connect(fd, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
        guard result == 0 || errno == EINPROGRESS else {
            let error = Self.failure("connect")
            close()
            throw error
        }
    }

    deinit { assert(!isOpen, "close() the socket first") }

    func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Glibc.close(fd)
    }

    /// Throws why the connect failed.
    public func connectResult() throws(SocketError) {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { throw Self.failure("getsockopt") }
        guard code == 0 else { throw Self.failure("connect", code) }
        // The kernel may choose a loopback port without a listener as our own: then the socket is connected to itself.
        if let own = name(of: getsockname), own == name(of: getpeername) {
            throw SocketError(.connection, "connect: connected to itself")
        }
    }

    /// Returns the number of bytes read; nil when there are none now.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SocketError) -> Int? {
        let count = recv(fd, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return count }
        if count == 0 { throw Self.endOfStream }
        if errno == EAGAIN || errno == EINTR { return nil }
        throw Self.failure("read")
    }

    /// Returns the number of bytes that the kernel took; 0 when it has no room now.
    func write(_ bytes: UnsafeRawBufferPointer) throws(SocketError) -> Int {
        let count = send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        throw Self.failure("write")
    }

    /// Detects a peer that vanished: by unacknowledged data, or by keepalive on an idle connection.
    private func configure(userTimeoutMs: Int32) {
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 10)
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5)
        set(Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, userTimeoutMs)
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // A kernel that lacks one of them still connects.
        _ = setsockopt(fd, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private func name(
        of call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> [UInt8]? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(fd, $0, &size) }
        }
        guard result == 0, Int32(storage.ss_family) != AF_UNIX else { return nil }
        return withUnsafeBytes(of: &storage) { Array($0.prefix(Int(size))) }
    }

    static let endOfStream = SocketError(.connection, "closed by the peer")

    private static func failure(_ call: String, _ code: Int32 = errno) -> SocketError {
        SocketError(.connection, "\(SystemError(call: call, code: code))")
    }
}
