import FCMSimulator
import Foundation
import Synchronization

/// The one simulator that all connections share, with what a value cannot have: a clock, a lock, keys and randomness.
final class SimulatorHost: Sendable {
    private let simulator: Mutex<Simulator>
    private let verifier: SignatureVerifier

    init(simulator: consuming Simulator, verifier: SignatureVerifier) {
        self.simulator = Mutex(simulator)
        self.verifier = verifier
    }

    func respond(to request: SimulatorRequest) -> SimulatorReply {
        // Reading and signatures are the work; the lock is held for the book-keeping only.
        let read = ReadRequest(request)
        let proof = read.tokenRequest.map { token in
            TokenProof(isSignatureValid: verifier.isValid(token), newToken: Self.newAccessToken())
        }
        let now = Self.unixMilliseconds()
        return simulator.withLock { $0.respond(to: read, nowMs: now, proof: proof) }
    }

    func control(_ request: SimulatorRequest) -> SimulatorReply {
        let now = Self.unixMilliseconds()
        return simulator.withLock { $0.control(request, nowMs: now) }
    }

    /// - Returns: how many streams to allow; nil where nobody said.
    func connectionOpened() -> Int? {
        simulator.withLock { $0.connectionOpened() }
    }

    func connectionClosed() {
        simulator.withLock { $0.connectionClosed() }
    }

    func streamsOpen(_ count: Int) {
        simulator.withLock { $0.streamsOpen(count) }
    }

    private static func newAccessToken() -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = (0..<4).map { _ in String(generator.next() | 1 << 63, radix: 16) }
        return "ya29.sandbox-" + digits.joined()
    }

    static func unixMilliseconds() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1_000)
    }
}
