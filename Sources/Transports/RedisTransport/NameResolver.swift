internal import EventLoop
internal import Glibc

/// An address as the kernel takes it, copied out of the resolver's list.
struct SocketAddress: Equatable, Sendable {
    let family: Int32
    let bytes: [UInt8]

    static func unix(_ path: String) -> SocketAddress? {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        let name = Array(path.utf8)
        guard name.count < capacity else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        return SocketAddress(family: AF_UNIX, bytes: withUnsafeBytes(of: &address) { Array($0) })
    }

    /// An address written as numbers, which needs no look-up; nil for a name.
    static func numeric(_ host: String, port: UInt16) -> SocketAddress? {
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

/// The answer to one look-up.
struct Resolution: Sendable {
    let attempt: UInt64
    let result: Result<[SocketAddress], RedisError>
}

/// Turns names into addresses without ever blocking a loop.
enum NameResolver {
    /// getaddrinfo waits for name servers and cannot be called back, so it gets a thread that ends with it.
    static func resolve(_ host: String, port: UInt16, attempt: UInt64, into inbox: Inbox<Resolution>) {
        let question = Unmanaged.passRetained(Question(host: host, port: port, attempt: attempt, inbox: inbox))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, resolverThreadMain, question.toOpaque())
        guard code != 0 else { return }
        question.release()
        let error = RedisError(.nameResolution, "\(SystemError(call: "pthread_create", code: code))")
        inbox.send(Resolution(attempt: attempt, result: .failure(error)))
    }

    fileprivate static func lookUp(_ host: String, port: UInt16) -> Result<[SocketAddress], RedisError> {
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), nil, &list)
        guard code == 0 else {
            return .failure(RedisError(.nameResolution, "\(host): \(String(cString: gai_strerror(code)))"))
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
        guard !addresses.isEmpty else { return .failure(RedisError(.nameResolution, "\(host): no address")) }
        return .success(addresses)
    }
}

private final class Question: Sendable {
    let host: String
    let port: UInt16
    let attempt: UInt64
    let inbox: Inbox<Resolution>

    init(host: String, port: UInt16, attempt: UInt64, inbox: Inbox<Resolution>) {
        self.host = host
        self.port = port
        self.attempt = attempt
        self.inbox = inbox
    }
}

private func resolverThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Nobody joins it.
    pthread_detach(pthread_self())
    guard let argument else { return nil }
    let question = Unmanaged<Question>.fromOpaque(argument).takeRetainedValue()
    let result = NameResolver.lookUp(question.host, port: question.port)
    question.inbox.send(Resolution(attempt: question.attempt, result: result))
    return nil
}
