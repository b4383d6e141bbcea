internal import EventLoop
internal import SocketTransport
internal import StreamWire

extension RedisConnection {
    func handle(_ readiness: Readiness) {
        guard let channel else { return }
        do throws(RedisError) {
            if machine.isOpening {
                // Write interest or an error: the connect has ended.
                try RedisError.from { () throws(SocketError) in try channel.socket.connectResult() }
                perform(machine.opened())
                return watch()
            }
            if readiness.contains(.writable) {
                if try flush(channel) > 0 { movedAt = SystemClock.bootNs }
                watch()
            }
            if !readiness.isDisjoint(with: [.readable, .failed]) { try read(channel) }
        } catch {
            // A callback may have closed this socket on the way; then its error means nothing to the next.
            if channel === self.channel { lose(error) }
        }
    }

    /// Below the size from which freed memory goes back to the system: mapping it again for each read costs more than reads
    /// into a larger buffer save.
    private static let bufferBytes = 24 << 10
    /// Full buffers that are read in one turn at most. With one a turn, a large entry would need as many turns, and the turns
    /// of a sending worker are long.
    private static let maximumBuffers = 40

    /// Reads what the server has sent, up to ``maximumBuffers``, and delivers the replies in it.
    func read(_ channel: ByteChannel) throws(RedisError) {
        let socketGeneration = generation
        let result = withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 16) { buffer in
            Result { () throws(RedisError) in
                for _ in 0..<Self.maximumBuffers {
                    let count = try RedisError.from { () throws(SocketError) in try channel.receive(into: buffer) }
                    if channel.usesTLS {
                        if machine.isSecuring { try continueSecuring(channel) }
                        // The peer may have sent more than its part of the handshake.
                        guard generation == socketGeneration, !machine.isSecuring else { return }
                        try feedDecrypted(from: channel, socketGeneration, buffer)
                    } else if count > 0 {
                        try feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]), socketGeneration)
                    }
                    guard generation == socketGeneration, count == buffer.count else { return }
                }
            }
        }
        try result.get()
        if generation == socketGeneration { watch() }
    }

    private func feedDecrypted(
        from channel: ByteChannel,
        _ socketGeneration: UInt64,
        _ buffer: UnsafeMutableRawBufferPointer
    ) throws(RedisError) {
        while generation == socketGeneration {
            let count = try RedisError.from { () throws(SocketError) in try channel.decrypt(into: buffer) }
            guard count > 0 else { return }
            try feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]), socketGeneration)
        }
    }

    /// Passes plain bytes to the reader, and each reply to the caller that waits for it.
    private func feed(_ bytes: UnsafeRawBufferPointer, _ socketGeneration: UInt64) throws(RedisError) {
        guard generation == socketGeneration, let reader else { return }
        try reader.feed(bytes)
        // Checked before each reply: the receiver of the one before may have closed the connection and the reader.
        while generation == socketGeneration, let value = try reader.next() { try deliver(value) }
        // Read after the receivers have run: a slow one must not make other commands late.
        movedAt = SystemClock.bootNs
    }

    private func deliver(_ value: RedisValue) throws(RedisError) {
        guard let entry = pending.popFirst() else {
            throw RedisError(.protocolError, "a reply without a command")
        }
        var failure: RedisError?
        if case .error(let line) = value { failure = RedisError(reply: line) }
        switch entry.waiter {
        case .caller(let completion):
            if failure?.code == .functionNotFound { onFunctionMissing() }
            completion(failure.map { .failure($0) } ?? .success(value))
            if let failure { handleFailure(failure) }
            if machine.isLeaving, pending.isEmpty { perform(machine.answered(nowMs: loop.nowMs, random: random())) }
        case .greeting(let expected):
            let failure = expected.failure(of: value, error: failure)
            if let failure, failure.code == .protocolError { throw failure }
            perform(machine.greeted(failure: failure, nowMs: loop.nowMs, random: random()))
        }
    }
}
