internal import EventLoop
internal import Foundation

/// A TCP proxy on loopback that injects network faults, like `tc netem` on kernels that have it.
///
/// One thread owns every socket. It applies the faults set below within a few milliseconds.
public final class ChaosProxy: Sendable {
    public enum Way: Hashable, Sendable { case toServer, toClient }

    struct Orders: Sendable {
        var upstream: UInt16
        var latencyMs: Int64 = 0
        var swallowed: Set<Way> = []
        /// The most bytes of each connection that reach the client; nil for no limit.
        var maximumToClient: Int?
        var speaksGarbage = false
        /// Increases with each request to reset the open connections.
        var resets = 0
        var isStopped = false
        /// Called before the bytes of each read from a client are forwarded.
        var onRead: @Sendable () -> Void = {}
    }

    public let port: UInt16
    private let orders: Locked<Orders>

    /// - Parameter upstream: a port on loopback; its server may start later.
    public init(upstream: UInt16) throws {
        let orders = Locked(Orders(upstream: upstream))
        let (listener, port) = try ProxySockets.listen()
        self.orders = orders
        self.port = port
        Thread.detachNewThread { ProxyLoop(listener: listener, orders: orders).run() }
    }

    deinit { stop() }

    /// Closes every connection and accepts no more. Safe to call twice.
    public func stop() { orders.withLock { $0.isStopped = true } }

    /// Ends every open connection with a TCP reset on both sides.
    public func reset() { orders.withLock { $0.resets += 1 } }

    /// Connects new clients to another server and resets the open connections.
    public func switchUpstream(to port: UInt16) {
        orders.withLock {
            $0.upstream = port
            $0.resets += 1
        }
    }

    /// Delays every byte in both directions by at least `milliseconds`; 0 ends the delay.
    public func delay(milliseconds: Int64) { orders.withLock { $0.latencyMs = milliseconds } }

    /// Drops all bytes in this direction, on open and new connections, like a half-open connection.
    public func swallow(_ way: Way) { orders.withLock { _ = $0.swallowed.insert(way) } }

    /// Forwards at most `most` bytes of each connection to the client, so that an answer stalls in the middle.
    public func stall(afterBytesToClient most: Int) { orders.withLock { $0.maximumToClient = most } }

    /// Answers new connections with bytes of no protocol and resets the open ones.
    public func speakGarbage() {
        orders.withLock {
            $0.speaksGarbage = true
            $0.resets += 1
        }
    }

    /// Calls `body` on the proxy's thread before each forwarding of bytes that a client wrote.
    public func beforeForwarding(_ body: @escaping @Sendable () -> Void) { orders.withLock { $0.onRead = body } }

    /// Ends all faults. Resets connections that lost bytes.
    public func heal() {
        orders.withLock {
            if !$0.swallowed.isEmpty || $0.maximumToClient != nil { $0.resets += 1 }
            $0.swallowed = []
            $0.maximumToClient = nil
            $0.speaksGarbage = false
            $0.latencyMs = 0
        }
    }
}

/// One proxied connection: two sockets, and the bytes queued in each direction.
private final class ProxyLink {
    struct Lane {
        let source: Int32
        let sink: Int32
        let way: ChaosProxy.Way
        /// Bytes to forward and when, oldest first.
        var queue: [(dueNs: UInt64, bytes: ArraySlice<UInt8>)] = []
        var waiting = 0
        /// Number of bytes read and not dropped.
        var passed = 0
        var isAtEnd = false
        var isFinished = false
    }

    var lanes: [Lane]

    init(client: Int32, server: Int32) {
        lanes = [
            Lane(source: client, sink: server, way: .toServer), Lane(source: server, sink: client, way: .toClient),
        ]
    }

    var isOver: Bool { lanes.allSatisfy(\.isFinished) }

    func close(reset: Bool) {
        for lane in lanes { ProxySockets.close(lane.source, reset: reset) }
    }

    /// Reads available bytes. Returns false if the connection broke.
    func read(_ index: Int, _ orders: ChaosProxy.Orders, into buffer: inout [UInt8]) -> Bool {
        let count = recv(lanes[index].source, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        if count == 0 {
            lanes[index].isAtEnd = true
        } else if !orders.swallowed.contains(lanes[index].way) {
            if lanes[index].way == .toServer { orders.onRead() }
            let due = SystemClock.bootNs + UInt64(max(0, orders.latencyMs)) * 1_000_000
            var kept = count
            if lanes[index].way == .toClient, let most = orders.maximumToClient {
                kept = max(0, min(count, most - lanes[index].passed))
            }
            guard kept > 0 else { return true }
            lanes[index].queue.append((due, buffer[0..<kept]))
            lanes[index].waiting += kept
            lanes[index].passed += kept
        }
        return true
    }

    /// Writes the bytes that are due. Returns false if the connection broke.
    func write(_ index: Int) -> Bool {
        let now = SystemClock.bootNs
        while let head = lanes[index].queue.first, head.dueNs <= now {
            let count = head.bytes.withUnsafeBytes {
                send(lanes[index].sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            lanes[index].waiting -= count
            if count == head.bytes.count {
                lanes[index].queue.removeFirst()
            } else {
                lanes[index].queue[0].bytes = head.bytes.dropFirst(count)
            }
        }
        if lanes[index].isAtEnd, lanes[index].queue.isEmpty, !lanes[index].isFinished {
            lanes[index].isFinished = true
            shutdown(lanes[index].sink, Int32(SHUT_WR))
        }
        return true
    }
}

private final class ProxyLoop {
    /// The longest time between two checks of the faults and of delayed bytes.
    private static let tickMs: Int32 = 4
    private static let maximumWaiting = 4 << 20
    private static let garbage = Array("\u{1}\u{2}not a protocol\r\n\r\n".utf8)

    private let listener: Int32
    private let box: Locked<ChaosProxy.Orders>
    private var links: [ProxyLink] = []
    private var resets = 0
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    init(listener: Int32, orders: Locked<ChaosProxy.Orders>) {
        self.listener = listener
        box = orders
    }

    func run() {
        while true {
            let orders = box.withLock { $0 }
            if orders.isStopped || orders.resets != resets {
                for link in links { link.close(reset: true) }
                links = []
                resets = orders.resets
            }
            if orders.isStopped { break }
            turn(orders)
        }
        close(listener)
    }

    private func turn(_ orders: ChaosProxy.Orders) {
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        for link in links {
            for (index, lane) in link.lanes.enumerated() {
                var events: Int32 = 0
                if !lane.isAtEnd, lane.waiting < Self.maximumWaiting { events |= POLLIN }
                if !link.lanes[1 - index].queue.isEmpty, orders.latencyMs == 0 { events |= POLLOUT }
                polled.append(pollfd(fd: events == 0 ? -1 : lane.source, events: Int16(events), revents: 0))
            }
        }
        guard poll(&polled, nfds_t(polled.count), Self.tickMs) >= 0 else { return }
        links = links.enumerated().compactMap { number, link in
            for index in 0...1 {
                let isReadable = polled[1 + 2 * number + index].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0
                if isReadable, !link.read(index, orders, into: &buffer) { return end(link, reset: true) }
            }
            for index in 0...1 where !link.write(index) { return end(link, reset: true) }
            return link.isOver ? end(link, reset: false) : link
        }
        if polled[0].revents != 0 { accept(orders) }
    }

    private func end(_ link: ProxyLink, reset: Bool) -> ProxyLink? {
        link.close(reset: reset)
        return nil
    }

    private func accept(_ orders: ChaosProxy.Orders) {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return }
        if orders.speaksGarbage {
            _ = send(client, Self.garbage, Self.garbage.count, Int32(MSG_NOSIGNAL))
            return ProxySockets.close(client, reset: false)
        }
        guard let server = ProxySockets.connect(orders.upstream) else {
            return ProxySockets.close(client, reset: true)
        }
        ProxySockets.withoutDelay(client)
        links.append(ProxyLink(client: client, server: server))
    }
}

private enum ProxySockets {
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var port: UInt16 = 0
        let isListening = withAddress(0) { address, size in
            var size = size
            guard bind(descriptor, address, size) == 0, Glibc.listen(descriptor, 64) == 0,
                getsockname(descriptor, address, &size) == 0
            else { return false }
            port = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt16(bigEndian: $0.pointee.sin_port)
            }
            return true
        }
        guard isListening else { throw TestFailure("the proxy cannot listen: errno \(errno)") }
        return (descriptor, port)
    }

    static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // A blocking connect: on loopback it succeeds or fails at once.
        guard withAddress(port, { Glibc.connect(descriptor, $0, $1) == 0 }) else {
            Glibc.close(descriptor)
            return nil
        }
        withoutDelay(descriptor)
        return descriptor
    }

    static func close(_ descriptor: Int32, reset: Bool) {
        if reset {
            var now = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        }
        Glibc.close(descriptor)
    }

    static func withoutDelay(_ descriptor: Int32) {
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func withAddress<Result>(
        _ port: UInt16,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
