import FCMSimulator
import FanfareXML
import FoundationEssentials
import NIOConcurrencyHelpers
import NIOCore
import OpenSSLKit

/// The simulator that all connections share, with a clock, a lock, timers, keys and randomness.
final class SimulatorHost: Sendable {
    /// Carries out the actions on one XMPP connection, in order. It is called under the lock and must return at once.
    typealias Perform = @Sendable ([XMPPOutput.Action]) -> Void

    private struct State {
        var simulator: Simulator
        var connections: [UInt64: Perform] = [:]
        /// When the simulator has to be woken without a request, Unix milliseconds.
        var wakeMs: Int64?
    }

    // A lock that the thread sanitizer can see, which `Mutex` is not.
    private let state: NIOLockedValueBox<State>
    /// The keys of the service accounts by their email.
    private let keys: [String: RS256Signer]
    private let timers: any EventLoop

    init(simulator: consuming Simulator, keys: [String: RS256Signer], timers: any EventLoop) {
        state = NIOLockedValueBox(State(simulator: simulator))
        self.keys = keys
        self.timers = timers
    }

    func respond(to request: SimulatorRequest) -> SimulatorReply {
        // Reading and verifying are the costly part and happen outside the lock.
        let read = ReadRequest(request)
        let mayIssue = read.tokenRequest.map(isSignatureValid) ?? read.needsToken
        let newToken = mayIssue ? Self.newAccessToken() : nil
        return with { $0.respond(to: read, nowMs: $1, newToken: newToken) }
    }

    /// Checks the RS256 signature of an assertion against the key of the account it names.
    private func isSignatureValid(_ request: TokenRequest) -> Bool {
        keys[request.email]?.isValid(request.signature, of: request.signingInput) ?? false
    }

    func control(_ request: SimulatorRequest) -> SimulatorReply {
        with { $0.control(request, nowMs: $1) }
    }

    /// - Returns: how many streams to allow; nil for the default.
    func connectionOpened() -> Int? {
        state.withLockedValue { $0.simulator.connectionOpened() }
    }

    func connectionClosed() {
        state.withLockedValue { $0.simulator.connectionClosed() }
    }

    func streamsOpened(_ count: Int) {
        state.withLockedValue { $0.simulator.streamsOpened(count) }
    }

    // MARK: XMPP

    /// - Returns: the connection's number; nil if there are too many.
    func openXMPP(_ perform: @escaping Perform) -> UInt64? {
        state.withLockedValue { state in
            let id = state.simulator.openXMPP()
            if let id { state.connections[id] = perform }
            return id
        }
    }

    func receiveXMPP(_ events: [XMLStreamEvent], on id: UInt64) {
        with { simulator, now in
            for event in events { simulator.receiveXMPP(event, on: id, nowMs: now) }
        }
    }

    func failXMPP(_ id: UInt64, reason: String) {
        with { simulator, _ in simulator.failXMPP(id, reason: reason) }
    }

    func closedXMPP(_ id: UInt64) {
        state.withLockedValue { state in _ = state.connections.removeValue(forKey: id) }
        with { $0.closedXMPP(id, nowMs: $1) }
    }

    /// Calls the simulator, and hands out the XMPP actions that follow before another call can add to them.
    private func with<Result: Sendable>(_ work: (inout Simulator, Int64) -> Result) -> Result {
        let now = Self.unixMilliseconds()
        return state.withLockedValue { state in
            let result = work(&state.simulator, now)
            Self.handOut(&state)
            if let due = state.simulator.xmppDueMs(nowMs: now), due < state.wakeMs ?? Int64.max {
                state.wakeMs = due
                wake(atMs: due, now: now)
            }
            return result
        }
    }

    private static func handOut(_ state: inout State) {
        let outputs = state.simulator.removeXMPPOutput()
        guard !outputs.isEmpty else { return }
        var actions: [UInt64: [XMPPOutput.Action]] = [:]
        for output in outputs { actions[output.connection, default: []].append(output.action) }
        for (id, list) in actions { state.connections[id]?(list) }
    }

    private func wake(atMs due: Int64, now: Int64) {
        // A moved clock may need a long delay; the next call then schedules the rest.
        let delay = min(max(1, due - now), 60_000)
        timers.scheduleTask(in: .milliseconds(delay)) { [weak self] in
            guard let self else { return }
            // A timer that an earlier one has made superfluous does no harm.
            self.state.withLockedValue { state in
                if state.wakeMs == due { state.wakeMs = nil }
            }
            self.with { $0.tick(nowMs: $1) }
        }
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
