public import EventLoop
internal import Glibc

/// The answer to one look-up.
public struct Resolution: Sendable {
    public let attempt: UInt64
    /// At least one address.
    public let result: Result<[SocketAddress], SocketError>
}

/// Turns names into addresses without ever blocking a loop.
public enum NameResolver {
    /// Looks `host` up on a thread of its own, which ends with the look-up: getaddrinfo blocks and cannot be cancelled.
    public static func resolve(_ host: String, port: UInt16, attempt: UInt64, into inbox: Inbox<Resolution>) {
        let question = Unmanaged.passRetained(Question(host: host, port: port, attempt: attempt, inbox: inbox))
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, resolverThreadMain, question.toOpaque())
        guard code != 0 else { return }
        question.release()
        let error = SocketError(.nameResolution, "\(SystemError(call: "pthread_create", code: code))")
        inbox.send(Resolution(attempt: attempt, result: .failure(error)))
    }

    fileprivate static func lookUp(_ host: String, port: UInt16) -> Result<[SocketAddress], SocketError> {
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), nil, &list)
        guard code == 0 else {
            return .failure(SocketError(.nameResolution, "\(host): \(String(cString: gai_strerror(code)))"))
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
        guard !addresses.isEmpty else { return .failure(SocketError(.nameResolution, "\(host): no address")) }
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
    // Nothing joins this thread.
    pthread_detach(pthread_self())
    guard let argument else { return nil }
    let question = Unmanaged<Question>.fromOpaque(argument).takeRetainedValue()
    let result = NameResolver.lookUp(question.host, port: question.port)
    question.inbox.send(Resolution(attempt: question.attempt, result: result))
    return nil
}
