public import EventLoop

/// Logs in over XMPP as a worker does, and closes the connection at once. It sends no message and acknowledges none.
public enum XMPPLoginProbe {
    public enum Outcome: Equatable, Sendable {
        /// FCM accepts the sender id and the key.
        case accepted
        /// FCM refuses them, with the name of the reason.
        case refused(String)
        /// There was no login, whatever the credential.
        case failed(String)
    }

    /// Blocks.
    public static func run(
        _ configuration: XMPPConfiguration,
        timeoutMs: Int64 = 10_000
    ) throws(SystemError) -> Outcome {
        let loop = try EventLoop()
        var single = configuration
        (single.maximumConnections, single.leastConnections) = (1, 1)
        let pool = XMPPPool(loop: loop, configuration: single)
        var outcome: Outcome?
        func end(_ result: Outcome) {
            outcome = result
            loop.stop()
        }
        pool.onReady = { end(.accepted) }
        pool.onRefusedCredential = { end(.refused($0)) }
        // The pool reports the end of the connection before the refusal that caused it.
        pool.onWarning = { end(outcome ?? .failed($0)) }
        loop.schedule(afterMilliseconds: timeoutMs) { loop.stop() }
        loop.run()
        pool.close()
        return outcome ?? .failed("no login within \(timeoutMs) ms")
    }
}
