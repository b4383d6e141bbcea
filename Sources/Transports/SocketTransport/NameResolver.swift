public import EventLoop
internal import FanfareModel
internal import Glibc

/// The answer to one look-up.
public struct Resolution: Sendable {
    public let attempt: UInt64
    /// At least one address.
    public let result: Result<[SocketAddress], SocketError>
}

/// Resolves host names without blocking a loop.
public enum NameResolver {
    /// Resolves `host` on a thread of its own: getaddrinfo blocks and cannot be cancelled.
    public static func resolve(_ host: String, port: UInt16, attempt: UInt64, into inbox: Inbox<Resolution>) {
        do throws(SystemError) {
            try BackgroundThread.detach {
                inbox.send(Resolution(attempt: attempt, result: lookUp(host, port: port)))
            }
        } catch {
            let error = SocketError(.name, "\(error)")
            inbox.send(Resolution(attempt: attempt, result: .failure(error)))
        }
    }

    private static func lookUp(_ host: String, port: UInt16) -> Result<[SocketAddress], SocketError> {
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), nil, &list)
        guard code == 0 else {
            return .failure(SocketError(.name, "\(host): \(String(cString: gai_strerror(code)))"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let item = entry?.pointee {
            // Without hints every address comes once for each kind of socket.
            if item.ai_socktype == Int32(SOCK_STREAM.rawValue) {
                let bytes = UnsafeRawBufferPointer(start: item.ai_addr, count: Int(item.ai_addrlen))
                addresses.append(SocketAddress(family: item.ai_family, bytes: [UInt8](bytes)))
            }
            entry = item.ai_next
        }
        guard !addresses.isEmpty else { return .failure(SocketError(.name, "\(host): no address")) }
        return .success(addresses)
    }
}
