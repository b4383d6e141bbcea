internal import DequeModule
public import EventLoop
public import FanfareModel
internal import OpenSSLKit

/// One connection under TLS that carries bytes both ways.
///
///     idle ─► resolving ─► connecting ─► securing ─► open ─► closed        any failure, close(): closed
///
/// Loop-confined. Events come from the loop's own turns, never from within a call into the stream. Sent bytes are
/// gathered until ``flush()``, which belongs at the end of a turn.
///
/// An owner that sets ``onReady`` reads and writes an open stream itself, with ``read(_:)`` and ``write(_:)``, when it
/// chooses to. It then gets no event after `opened`: these two throw the stream's end.
public final class TLSStream {
    public enum Event: Equatable {
        case opened
        case received([UInt8])
        /// The last event, unless the owner closed the stream first.
        case closed(reason: Reason)
    }

    public var onEvent: (Event) -> Void = { _ in }
    /// Called instead of reading when the open stream may be read, or written again. It comes again with every turn
    /// until the owner has read.
    public var onReady: (() -> Void)?

    private enum Phase { case idle, resolving, connecting, securing, open, closed }

    /// Bytes that one turn reads at most.
    private static let readLimit = 262_144
    /// Bytes that are encrypted at a time: what fits one record of TLS.
    private static let partBytes = 16_384
    /// For an address to take the connection while there are others, in milliseconds.
    private static let addressMs: Int64 = 1_000

    private let loop: EventLoop
    private let configuration: TLSStreamConfiguration
    private var phase = Phase.idle
    private var resolutions: AttachmentID?
    /// Addresses that were not tried yet.
    private var addresses: Deque<SocketAddress> = []
    private var channel: ByteChannel?
    private var registration: RegistrationID?
    /// Plain bytes that were not handed to the channel yet.
    private var waiting: Deque<UInt8> = []
    /// Why the stream ends, found where no event may be emitted.
    private var failure: Reason?
    private var nextTurn: TimerID?
    private var deadline: TimerID?
    private var addressDeadline: TimerID?

    public init(loop: EventLoop, configuration: TLSStreamConfiguration) {
        self.loop = loop
        self.configuration = configuration
    }

    deinit { assert(phase == .idle || phase == .closed, "closed on the loop first") }

    /// Bytes that ``send(_:)`` accepted since the beginning.
    public var accepted: UInt64 { handedOver + UInt64(waiting.count) }
    /// How many of them were encrypted: those may have been sent.
    public private(set) var handedOver: UInt64 = 0

    /// The protocol that both sides agreed on by ALPN; nil without one, and before the stream is open.
    public var negotiatedProtocol: String? { channel?.negotiatedProtocol }

    /// Starts to connect. Once.
    public func open() {
        guard phase == .idle else { return }
        phase = .resolving
        guard configuration.hasHost, let port = UInt16(exactly: configuration.port), port > 0 else {
            return fail("\(configuration.host) is not a host")
        }
        deadline = loop.schedule(afterMilliseconds: configuration.connectTimeoutMs) { [unowned self] in
            end(Reason(.timeout, "no connection within \(configuration.connectTimeoutMs) ms"))
        }
        if let address = SocketAddress.numeric(configuration.host, port: port) { return connect(to: [address]) }
        let inbox = Inbox<Resolution>()
        // Weak: in the turn in which it is detached an inbox may be emptied once more.
        resolutions = loop.attach(inbox) { [weak self] resolution in
            guard let self, phase == .resolving else { return }
            switch resolution.result {
            case .success(let addresses): connect(to: addresses)
            case .failure(let error): end(error.reason)
            }
        }
        NameResolver.resolve(configuration.host, port: port, attempt: 0, into: inbox)
    }

    /// Queues bytes for ``flush()``; before the stream is open they wait.
    public func send(_ bytes: [UInt8]) {
        guard phase != .idle, phase != .closed, failure == nil else { return }
        waiting.append(contentsOf: bytes)
        if waiting.count > configuration.maximumBufferedBytes { return fail("the peer does not take what is sent") }
        // Should the owner not flush, the next turn does.
        scheduleTurn()
    }

    /// Writes what the socket takes now; the rest follows by itself.
    ///
    /// A part is encrypted only when all before it has left: bytes beyond ``handedOver`` are known not to be sent.
    public func flush() {
        guard phase == .open, failure == nil, let channel else { return }
        do throws(SocketError) {
            try channel.flush()
            while !channel.hasUnsentBytes, !waiting.isEmpty {
                var part = Array(waiting.prefix(Self.partBytes))
                waiting.removeFirst(part.count)
                handedOver += UInt64(part.count)
                try channel.write(&part)
                try channel.flush()
            }
        } catch {
            return fail(error.reason)
        }
        watch()
    }

    /// Whether ``write(_:)`` may be called: the stream is open, and the socket has taken all bytes before.
    public var isWritable: Bool {
        phase == .open && waiting.isEmpty && channel?.hasUnsentBytes == false
    }

    /// Encrypts bytes and writes what the socket takes now; ``onReady`` comes when it takes more. Only while
    /// ``isWritable``. Leaves the array empty, with its capacity.
    public func write(_ bytes: inout [UInt8]) throws(SocketError) {
        guard let channel, isWritable else { preconditionFailure("the stream is not writable") }
        handedOver += UInt64(bytes.count)
        try channel.write(&bytes)
        try channel.flush()
        watch()
    }

    /// Writes bytes that the socket did not take before.
    public func writeRest() throws(SocketError) {
        guard phase == .open, let channel, channel.hasUnsentBytes else { return }
        try channel.flush()
        watch()
    }

    /// Reads what has arrived, ``readLimit`` bytes at most, and passes the plain bytes on.
    ///
    /// - Returns: whether there may be more.
    public func read(_ receive: (UnsafeRawBufferPointer) -> Void) throws(SocketError) -> Bool {
        guard phase == .securing || phase == .open, let channel else { return false }
        var total = 0
        while total < Self.readLimit {
            let (count, isAll) = try self.receive(channel, receive)
            guard phase == .open, count > 0, !isAll else { return false }
            total += count
        }
        return true
    }

    /// Closes the socket; no event follows. Bytes that were not flushed are dropped. Safe to call twice.
    public func close() {
        phase = .closed
        for timer in [nextTurn, deadline, addressDeadline] { if let timer { loop.cancel(timer) } }
        (nextTurn, deadline, addressDeadline) = (nil, nil, nil)
        if let resolutions { loop.detach(resolutions) }
        resolutions = nil
        dropSocket()
    }

    // MARK: Connecting

    private func connect(to addresses: [SocketAddress]) {
        phase = .connecting
        self.addresses = Deque(addresses)
        tryNextAddress("no address")
    }

    /// - Parameter reason: why the address before it failed; the stream's end when there is no other.
    private func tryNextAddress(_ reason: Reason) {
        var reason = reason
        dropSocket()
        while let address = addresses.popFirst() {
            do {
                let socket = try StreamSocket(connectingTo: address, userTimeoutMs: configuration.userTimeoutMs)
                channel = ByteChannel(socket: socket)
                registration = try loop.register(fd: socket.fd, interest: .write) { [unowned self] _ in ready() }
            } catch {
                reason = (error as? SocketError)?.reason ?? "\(error)"
                dropSocket()
                continue
            }
            guard !addresses.isEmpty else { return }
            addressDeadline = loop.schedule(afterMilliseconds: Self.addressMs) { [unowned self] in
                tryNextAddress(Reason(.timeout, "the address does not answer"))
            }
            return
        }
        fail(reason)
    }

    private func dropSocket() {
        if let addressDeadline { loop.cancel(addressDeadline) }
        addressDeadline = nil
        // The registration first: a closed descriptor's number may be another's at once.
        if let registration { loop.deregister(registration) }
        registration = nil
        channel?.close()
        channel = nil
    }

    private func connected(_ channel: ByteChannel) {
        do throws(SocketError) {
            try channel.socket.connectResult()
        } catch {
            return tryNextAddress(error.reason)
        }
        if let addressDeadline { loop.cancel(addressDeadline) }
        addressDeadline = nil
        phase = .securing
        do throws(SocketError) {
            let files = TLSFiles(caFile: configuration.caFile)
            try channel.startTLS(files: files, host: configuration.host, protocols: configuration.protocols)
        } catch {
            return end(error.reason)
        }
        secure(channel)
    }

    private func secure(_ channel: ByteChannel) {
        do throws(SocketError) {
            guard try channel.secure() else { return watch() }
        } catch {
            return end(error.reason)
        }
        if let deadline { loop.cancel(deadline) }
        deadline = nil
        phase = .open
        onEvent(.opened)
        // More bytes may have come together with the end of the handshake.
        if phase == .open, let onReady { onReady() } else { scheduleTurn() }
    }

    // MARK: Turns

    private func scheduleTurn() {
        guard nextTurn == nil, phase != .closed else { return }
        nextTurn = loop.schedule(afterNanoseconds: 0) { [unowned self] in
            nextTurn = nil
            turn()
        }
    }

    private func turn() {
        flush()
        let hasMore = read()
        // A peer that refuses bytes may have sent some before: first all of those, then the end.
        if let failure, !hasMore { end(failure) }
    }

    private func fail(_ reason: Reason) {
        if failure == nil { failure = reason }
        scheduleTurn()
    }

    private func end(_ reason: Reason) {
        guard phase != .closed else { return }
        close()
        onEvent(.closed(reason: reason))
    }

    /// Reads and writes, whichever of the two the socket is ready for: TLS may need one for the other.
    private func ready() {
        guard let channel else { return }
        if phase == .connecting { return connected(channel) }
        if phase == .open, let onReady { onReady() } else { turn() }
    }

    private func watch() {
        guard let registration, let channel else { return }
        loop.update(registration, interest: channel.hasUnsentBytes ? [.read, .write] : .read)
    }

    /// Reads, and emits what arrived as events.
    ///
    /// - Returns: whether there is more, for which another turn is scheduled.
    private func read() -> Bool {
        do throws(SocketError) {
            guard try read({ onEvent(.received(Array($0))) }) else { return false }
        } catch {
            end(error.reason)
            return false
        }
        scheduleTurn()
        return true
    }

    /// Below the size from which freed memory goes back to the system, and more than a TLS record.
    private static let bufferBytes = 24 << 10

    /// - Returns: how many bytes there were on the wire, and whether the socket is empty now.
    private func receive(_ channel: ByteChannel, _ receive: (UnsafeRawBufferPointer) -> Void) throws(SocketError) -> (
        count: Int, isAll: Bool
    ) {
        let result = withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 16) { buffer in
            Result { () throws(SocketError) in
                let received = try channel.receive(into: buffer)
                if phase == .securing {
                    secure(channel)
                    // What came with the end of the handshake is read by the owner that reads itself.
                    if onReady != nil { return (count: 0, isAll: true) }
                }
                while phase == .open {
                    let count = try channel.decrypt(into: buffer)
                    guard count > 0 else { break }
                    receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
                return (count: received, isAll: received < buffer.count)
            }
        }
        return try result.get()
    }
}
