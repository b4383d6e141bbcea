internal import FanfareModel
public import OpenSSLKit

/// A socket with or without TLS. Callers see plain bytes.
public final class ByteChannel {
    public let socket: StreamSocket
    private var session: TLSSession?
    /// Bytes for the wire; the first ``sent`` of them were written.
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// Items after ``outgoing``, in order: pieces that are too large to be made at once, and bytes written after them.
    private var behind: [Behind] = []
    private enum Behind {
        case bytes([UInt8])
        case pieces(any BytePieces)
    }
    /// Bytes of ``BytePieces`` that are made at a time.
    private static let piece = 1 << 18
    /// Capacity in bytes that a buffer keeps for the next turn; a larger buffer is freed.
    private static let maximumRoom = 1 << 20
    /// Plain bytes handed to the wire so far; with TLS, handed to be encrypted. Bytes beyond were never sent.
    public private(set) var written: UInt64 = 0

    public init(socket: StreamSocket) { self.socket = socket }

    public func close() {
        if let session {
            session.shutdown()
            session.moveOutgoing(to: &outgoing)
            // A close_notify or an alert, if the kernel has room for it now.
            behind = []
            _ = try? flush()
        }
        session = nil
        socket.close()
    }

    /// True while bytes wait for room in the kernel.
    public var hasUnsentBytes: Bool { sent < outgoing.count || !behind.isEmpty }

    // MARK: TLS

    public var usesTLS: Bool { session != nil }

    /// Begins TLS; ``secure()`` carries out the handshake.
    ///
    /// - Parameter protocols: names offered by ALPN, most wanted first; none to leave ALPN out.
    public func startTLS(files: TLSFiles, host: String, protocols: [String] = []) throws(SocketError) {
        session = try Self.translate { () throws(OpenSSLError) in
            // Read again for each connection, so that replaced certificates are used from then on.
            try TLSSession(context: TLSContext(files: files), host: host, protocols: protocols)
        }
    }

    /// The protocol that both sides agreed on by ALPN; nil without one, and before TLS is complete.
    public var negotiatedProtocol: String? { session?.negotiatedProtocol }

    /// Advances the TLS handshake. True when it is complete and the peer verified.
    public func secure() throws(SocketError) -> Bool {
        guard let session else { return true }
        let isSecure = Result { () throws(SocketError) in
            try Self.translate { () throws(OpenSSLError) in try session.handshake() }
        }
        // Sent after a failure too: it is the alert for the peer.
        session.moveOutgoing(to: &outgoing)
        _ = try? flush()
        return try isSecure.get()
    }

    // MARK: Writing

    /// Queues plain bytes; ``flush()`` sends them. Leaves the array empty, with room for the next turn's.
    public func write(_ bytes: inout [UInt8]) throws(SocketError) {
        defer { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.maximumRoom) }
        guard behind.isEmpty else { return queueBehind(&bytes) }
        try moveToOutgoing(&bytes)
    }

    /// Queues bytes and, after them, pieces that ``flush()`` makes as the wire takes them. Leaves the array empty.
    public func write(_ bytes: inout [UInt8], then pieces: some BytePieces) {
        queueBehind(&bytes)
        behind.append(.pieces(pieces))
    }

    private func queueBehind(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        if case .bytes(var last)? = behind.last {
            // Removed while it grows: a second reference would make the append copy it.
            behind.removeLast()
            last.append(contentsOf: bytes)
            behind.append(.bytes(last))
        } else {
            behind.append(.bytes(Array(bytes[...])))
        }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.maximumRoom)
    }

    /// Moves plain bytes to ``outgoing``, encrypted under TLS. Leaves the array with unspecified content.
    private func moveToOutgoing(_ bytes: inout [UInt8]) throws(SocketError) {
        guard let session else {
            // Common case: nothing waits, and the arrays change places. Assigning and emptying would copy a buffer as
            // large as the largest command that ever was, in every turn.
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
        session.moveOutgoing(to: &outgoing)
    }

    /// Moves the first item of ``behind``, or its next piece, to ``outgoing``, which is empty.
    private func refill() throws(SocketError) {
        guard let first = behind.first else { return }
        switch first {
        case .bytes(var bytes):
            behind.removeFirst()
            try moveToOutgoing(&bytes)
        case .pieces(var pieces):
            if session == nil {
                pieces.append(to: &outgoing, most: Self.piece)
            } else {
                var bytes: [UInt8] = []
                bytes.reserveCapacity(Self.piece + type(of: pieces).overrun)
                pieces.append(to: &bytes, most: Self.piece)
                try moveToOutgoing(&bytes)
            }
            if pieces.isOver { behind.removeFirst() } else { behind[0] = .pieces(pieces) }
        }
    }

    /// - Returns: how many bytes the kernel took.
    @discardableResult
    public func flush() throws(SocketError) -> Int {
        var total = 0
        while true {
            if sent == outgoing.count {
                outgoing.removeAll(keepingCapacity: outgoing.capacity <= Self.maximumRoom)
                sent = 0
                try refill()
                if outgoing.isEmpty { return total }
            }
            let result = outgoing.withUnsafeBytes { bytes in
                Result { () throws(SocketError) in try socket.write(UnsafeRawBufferPointer(rebasing: bytes[sent...])) }
            }
            let count = try result.get()
            guard count > 0 else { return total }
            total += count
            sent += count
            if session == nil { written += UInt64(count) }
        }
    }

    // MARK: Reading

    /// Receives what the wire has, one buffer at most. Without TLS the buffer then holds plain bytes; under TLS
    /// ``decrypt(into:)`` returns them.
    ///
    /// - Returns: how many bytes there were on the wire.
    public func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SocketError) -> Int {
        guard let count = try socket.read(into: buffer) else { return 0 }
        if let session {
            try Self.translate { () throws(OpenSSLError) in
                try session.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        return count
    }

    /// Decrypts what ``receive(into:)`` took from the wire. Call it until it returns 0.
    ///
    /// - Returns: how many plain bytes the buffer holds.
    public func decrypt(into buffer: UnsafeMutableRawBufferPointer) throws(SocketError) -> Int {
        guard let session else { return 0 }
        let count = try Self.translate { () throws(OpenSSLError) in try session.read(into: buffer) }
        guard let count else { throw StreamSocket.endOfStream }
        // Answers of TLS itself, such as key updates.
        if count == 0 { session.moveOutgoing(to: &outgoing) }
        return count
    }

    private static func translate<Value>(_ body: () throws(OpenSSLError) -> Value) throws(SocketError) -> Value {
        do throws(OpenSSLError) {
            return try body()
        } catch {
            let kind = error.verifyResult.map {
                VerifyResult.isAboutAuthority($0) ? Reason.Kind.authority : .certificate
            }
            throw SocketError(kind ?? .tls, "\(error)")
        }
    }
}
