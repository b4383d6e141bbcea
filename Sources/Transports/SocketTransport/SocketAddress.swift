internal import Glibc

/// An address as the kernel takes it, copied out of the resolver's list.
public struct SocketAddress: Equatable, Sendable {
    let family: Int32
    let bytes: [UInt8]

    /// Whether a process of this machine listens at the address. Connects, and blocks until that succeeds or fails.
    public var isServed: Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return bytes.withUnsafeBytes { bytes in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return connect(descriptor, address, socklen_t(bytes.count)) == 0
        }
    }

    /// Address of a Unix socket; nil when the path is too long.
    public static func unix(_ path: String) -> SocketAddress? {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        let name = Array(path.utf8)
        guard name.count < capacity else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        return SocketAddress(family: AF_UNIX, bytes: withUnsafeBytes(of: &address) { Array($0) })
    }

    /// Address written as numbers, which needs no look-up; nil for a name.
    public static func numeric(_ host: String, port: UInt16) -> SocketAddress? {
        var four = sockaddr_in()
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            return SocketAddress(family: AF_INET, bytes: withUnsafeBytes(of: &four) { Array($0) })
        }
        var six = sockaddr_in6()
        guard inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { return nil }
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        return SocketAddress(family: AF_INET6, bytes: withUnsafeBytes(of: &six) { Array($0) })
    }
}
