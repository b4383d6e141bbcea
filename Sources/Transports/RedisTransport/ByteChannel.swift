internal import OpenSSLKit

/// A socket, with TLS or without: plain bytes on our side, whatever the wire needs on the other.
final class ByteChannel {
    let socket: StreamSocket
    private var session: TLSSession?
    /// Bytes for the wire and how many of them are gone.
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// What comes behind them, in its order: commands too large to be written at once, and what was written after one.
    private var behind: [Behind] = []
    private enum Behind {
        case bytes([UInt8])
        case command(CommandPieces)
    }
    /// Bytes of a large command that are made at a time.
    private static let piece = 1 << 18
    /// Room that is kept for the next turn; that of an exceptional one is given back.
    private static let mostRoom = 1 << 20
    /// Plain bytes handed to the wire so far; with TLS, handed to be encrypted. What is beyond was never sent.
    private(set) var written: UInt64 = 0

    init(socket: StreamSocket) { self.socket = socket }

    func close() {
        if let session {
            session.shutdown()
            outgoing.append(contentsOf: session.takeOutgoing())
            // A goodbye or an alert, if there is room for it; nobody waits for it.
            behind = []
            _ = try? flush()
        }
        session = nil
        socket.close()
    }

    /// True while bytes wait for room in the kernel.
    var hasUnsentBytes: Bool { sent < outgoing.count || !behind.isEmpty }

    func startTLS(context: TLSContext, host: String) throws(RedisError) {
        try Self.translate { () throws(OpenSSLError) in session = try TLSSession(context: context, host: host) }
    }

    /// Moves the TLS handshake on. True when it is over.
    func secure() throws(RedisError) -> Bool {
        guard let session else { return true }
        // Sent even when it fails: then it is the alert that tells the peer why.
        let isSecure = Result { () throws(RedisError) in
            try Self.translate { () throws(OpenSSLError) in try session.handshake() }
        }
        outgoing.append(contentsOf: session.takeOutgoing())
        _ = try? flush()
        return try isSecure.get()
    }

    /// Queues plain bytes; ``flush()`` sends them. Leaves the array empty, with room for the next turn's.
    func write(_ bytes: inout [UInt8]) throws(RedisError) {
        defer { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.mostRoom) }
        guard behind.isEmpty else { return queue(&bytes) }
        try put(&bytes)
    }

    /// Queues bytes, and a large command behind them; ``flush()`` makes its bytes as the wire takes them. Leaves the array
    /// empty.
    func write(_ bytes: inout [UInt8], then command: CommandPieces) {
        queue(&bytes)
        behind.append(.command(command))
    }

    private func queue(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        if case .bytes(var last)? = behind.last {
            // Alone in its owner's hands while it grows, or it would be copied each time.
            behind.removeLast()
            last.append(contentsOf: bytes)
            behind.append(.bytes(last))
        } else {
            behind.append(.bytes(Array(bytes[...])))
        }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.mostRoom)
    }

    /// Leaves the array with whatever is in it.
    private func put(_ bytes: inout [UInt8]) throws(RedisError) {
        guard let session else {
            // The common case: nothing is waiting, and the arrays change places. Handed over and emptied, the array would
            // be copied first: the room of the largest command that ever was, in every turn.
            if outgoing.isEmpty { swap(&outgoing, &bytes) } else { outgoing.append(contentsOf: bytes) }
            return
        }
        try Self.translate { () throws(OpenSSLError) in
            var failure: OpenSSLError?
            bytes.withUnsafeBytes { buffer in
                do throws(OpenSSLError) { try session.write(buffer) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        written += UInt64(bytes.count)
        outgoing.append(contentsOf: session.takeOutgoing())
    }

    /// The next of what is queued behind ``outgoing``, which is empty.
    private func refill() throws(RedisError) {
        guard let first = behind.first else { return }
        switch first {
        case .bytes(var bytes):
            behind.removeFirst()
            try put(&bytes)
        case .command(var pieces):
            if session == nil {
                pieces.append(to: &outgoing, most: Self.piece)
            } else {
                var bytes: [UInt8] = []
                bytes.reserveCapacity(Self.piece + CommandPieces.fewMore)
                pieces.append(to: &bytes, most: Self.piece)
                try put(&bytes)
            }
            if pieces.isOver { behind.removeFirst() } else { behind[0] = .command(pieces) }
        }
    }

    /// - Returns: how many bytes the kernel took.
    @discardableResult func flush() throws(RedisError) -> Int {
        var total = 0
        while true {
            if sent == outgoing.count {
                outgoing.removeAll(keepingCapacity: outgoing.capacity <= Self.mostRoom)
                sent = 0
                try refill()
                if outgoing.isEmpty { return total }
            }
            let result = outgoing.withUnsafeBytes { bytes in
                Result { () throws(RedisError) in try socket.write(UnsafeRawBufferPointer(rebasing: bytes[sent...])) }
            }
            let count = try result.get()
            guard count > 0 else { return total }
            total += count
            sent += count
            if session == nil { written += UInt64(count) }
        }
    }

    /// Takes what the wire has, one buffer at most, and hands plain bytes to `body`.
    ///
    /// - Returns: how many bytes there were on the wire.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(RedisError) -> Void
    ) throws(RedisError) -> Int {
        guard let count = try socket.read(into: buffer) else { return 0 }
        if let session {
            try Self.translate { () throws(OpenSSLError) in
                try session.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        } else {
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return count
    }

    /// Plain bytes of what ``read(into:_:)`` took from the wire. Without TLS there are none left.
    func decrypt(
        into buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(RedisError) -> Void
    ) throws(RedisError) {
        guard let session else { return }
        while true {
            let count = try Self.translate { () throws(OpenSSLError) in try session.read(into: buffer) }
            guard let count else { throw RedisError(.connectionLost, "closed by the server") }
            guard count > 0 else { break }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        // Answers of TLS itself, such as key updates.
        outgoing.append(contentsOf: session.takeOutgoing())
    }

    private static func translate<Value>(
        _ body: () throws(OpenSSLError) -> Value
    ) throws(RedisError) -> Value {
        do throws(OpenSSLError) {
            return try body()
        } catch {
            throw RedisError(.tls, "\(error)")
        }
    }
}
