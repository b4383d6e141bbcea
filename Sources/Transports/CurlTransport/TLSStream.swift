internal import CCurl
public import EventLoop
internal import Glibc

/// One connection under TLS that carries bytes both ways: opened by libcurl, then written and read on the loop.
///
/// Loop-confined. Events come from the loop's own turns, never from within a call into the stream. What is sent is
/// gathered until ``flush()``, which belongs at the end of a turn.
public final class TLSStream {
    public enum Event: Equatable {
        case opened
        case received([UInt8])
        /// The last event, unless the owner closed the stream first.
        case closed(reason: String)
    }

    public var onEvent: (Event) -> Void = { _ in }

    private enum Phase { case idle, connecting, open, closed }

    /// Read in one go before others have their turn.
    private static let readLimit = 262_144

    private let loop: EventLoop
    private let configuration: TLSStreamConfiguration
    private var phase = Phase.idle
    private var connect: TLSConnect?
    private var registration: RegistrationID?
    private var outgoing = OutgoingBytes()
    private var isBlocked = false
    /// Found where no event may be given.
    private var failure: String?
    private var nextTurn: TimerID?
    private var readBuffer: [UInt8] = []

    public init(loop: EventLoop, configuration: TLSStreamConfiguration) {
        self.loop = loop
        self.configuration = configuration
    }

    deinit { assert(phase == .idle || phase == .closed, "closed on the loop first") }

    /// Bytes that ``send(_:)`` took since the beginning.
    public var accepted: UInt64 { outgoing.accepted }
    /// How many of them libcurl was offered: those may have left, whatever it said of them.
    public var handedOver: UInt64 { outgoing.handedOver }

    /// Starts to connect. Once.
    public func open() {
        guard phase == .idle else { return }
        phase = .connecting
        guard let url = configuration.url else { return fail("\(configuration.host) is not a host") }
        guard let connect = TLSConnect(loop: loop, configuration: configuration, url: url) else {
            return fail("libcurl cannot connect")
        }
        self.connect = connect
        connect.onEnd = { [unowned self] result in connectEnded(result) }
        connect.start()
    }

    /// Takes bytes for ``flush()``; before the stream is open they wait.
    public func send(_ bytes: [UInt8]) {
        guard phase == .connecting || phase == .open, failure == nil else { return }
        outgoing.append(bytes)
        if outgoing.count > configuration.maxBufferedBytes { return fail("the peer does not take what is sent") }
        // Should nobody flush, the next turn does.
        wantTurn()
    }

    /// Writes what the socket takes now; the rest follows by itself.
    public func flush() {
        guard phase == .open, failure == nil, !isBlocked, let connect else { return }
        if let error = outgoing.write(to: connect.easy) { return fail(error) }
        isBlocked = !outgoing.isEmpty
        watch()
    }

    /// Gives everything back; no event follows. What was not flushed is dropped. Safe to call twice.
    public func close() {
        phase = .closed
        if let nextTurn { loop.cancel(nextTurn) }
        nextTurn = nil
        // The descriptor first: libcurl closes it.
        if let registration { loop.deregister(registration) }
        registration = nil
        connect?.close()
        connect = nil
        outgoing.release()
    }

    // MARK: Turns

    private func wantTurn() {
        guard nextTurn == nil, phase != .closed else { return }
        nextTurn = loop.schedule(afterNanoseconds: 0) { [unowned self] in
            nextTurn = nil
            turn()
        }
    }

    private func turn() {
        flush()
        let hasMore = read()
        // A peer that takes nothing more may have said something before: first all of that, then the end.
        if let failure, !hasMore { end(failure) }
    }

    private func fail(_ reason: String) {
        if failure == nil { failure = reason }
        wantTurn()
    }

    private func end(_ reason: String) {
        guard phase != .closed else { return }
        close()
        onEvent(.closed(reason: reason))
    }

    private func connectEnded(_ result: Result<Int32, TLSConnect.Failure>) {
        guard phase == .connecting else { return }
        switch result {
        case .failure(let failure): end(failure.reason)
        case .success(let fd):
            do throws(SystemError) {
                registration = try loop.register(fd: fd, interest: .read) { [unowned self] _ in ready() }
            } catch {
                return end("\(error)")
            }
            phase = .open
            onEvent(.opened)
            if phase == .open { wantTurn() }
        }
    }

    /// TLS may have to read in order to write, and to write in order to read: whatever the socket is ready for, both
    /// are tried.
    private func ready() {
        isBlocked = false
        turn()
    }

    private func watch() {
        guard let registration else { return }
        loop.update(registration, interest: isBlocked ? [.read, .write] : .read)
    }

    /// Until libcurl has nothing more: what TLS has decrypted and nobody read lies in the library, and no descriptor
    /// tells of it.
    ///
    /// - Returns: whether there is more, for which there will be another turn.
    private func read() -> Bool {
        if readBuffer.isEmpty { readBuffer = [UInt8](repeating: 0, count: 16_384) }
        var total = 0
        while phase == .open, let connect {
            if total >= Self.readLimit {
                wantTurn()
                return true
            }
            var count = 0
            let code = readBuffer.withUnsafeMutableBytes {
                curl_easy_recv(connect.easy, $0.baseAddress, $0.count, &count)
            }
            if code == CURLE_AGAIN { break }
            if code != CURLE_OK || count == 0 {
                end(code == CURLE_OK ? "the peer closed the connection" : connect.reason(code))
                break
            }
            total += count
            onEvent(.received(Array(readBuffer[..<count])))
        }
        return false
    }
}
