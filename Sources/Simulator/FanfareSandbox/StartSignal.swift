import Synchronization

/// Waits for all servers to listen, or for the first to fail.
final class StartSignal: Sendable {
    private struct State {
        var isDataListening = false
        var isXMPPListening = false
        var controlPort: Int?
        var failure: (any Error)?
        var waiter: CheckedContinuation<Int, any Error>?
    }

    private let state = Mutex(State())

    /// The TLS port of HTTP listens.
    func listening() {
        update { $0.isDataListening = true }
    }

    func xmppListening() {
        update { $0.isXMPPListening = true }
    }

    func listening(controlPort: Int) {
        update { $0.controlPort = controlPort }
    }

    func failed(_ error: any Error) {
        update { $0.failure = $0.failure ?? error }
    }

    /// Call it once.
    ///
    /// - Returns: the control port.
    func wait() async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            update { $0.waiter = continuation }
        }
    }

    private func update(_ change: (inout State) -> Void) {
        // The waiter may run at once, so it is resumed outside the lock.
        let ready: (CheckedContinuation<Int, any Error>, Result<Int, any Error>)? = state.withLock { state in
            change(&state)
            guard let waiter = state.waiter else { return nil }
            if let failure = state.failure {
                state.waiter = nil
                return (waiter, .failure(failure))
            }
            guard state.isDataListening, state.isXMPPListening, let port = state.controlPort else { return nil }
            state.waiter = nil
            return (waiter, .success(port))
        }
        if let ready { ready.0.resume(with: ready.1) }
    }
}
