import FanfareModel
import Foundation
import TestSupport
import Testing

/// An FCM that resets or refuses streams, sends GOAWAY, stalls, sends malformed answers or is unreachable.
@Suite struct WireChaos {
    private static let faults = [
        #"{"reset":"CANCEL"}"#, #"{"reset":"INTERNAL_ERROR"}"#, #"{"refuse_stream":true}"#, #"{"goaway":"NO_ERROR"}"#,
        #"{"goaway":"ENHANCE_YOUR_CALM"}"#, #"{"close":true}"#, #"{"delay_ms":6000}"#, #"{"truncate":20}"#,
        #"{"html":502}"#, #"{"status":503}"#,
    ]

    /// Few faults of each kind, because retries are limited to ten a second. A fault affects the rest of its round and
    /// the next one, so an additional round brings traffic for the last fault.
    @Test(arguments: HTTPEngine.allCases) func faultsOnTheWire(engine: HTTPEngine) async throws {
        let times = ChaosScale.rounds(short: 6, longShare: 0.5)
        let lostAnswers = 20
        let (_, audit) = try await chaos(
            "faultsOnTheWire, \(engine.rawValue)",
            rounds: Self.faults.count + 1,
            part: max(300, 20 * times),
            lostAnswers: lostAnswers,
            delayMs: 0,
            requestTimeoutMs: 3_000,
            environment: engine.variable
        ) { run, round in
            guard round <= Self.faults.count else {
                return try await Wait.until("all faults to be used", seconds: 60) { try await areFaultsUsed(run.rig) }
            }
            let match = #"{"path":"/v1/","fraction":0.3}"#
            let fault = #"{"match":\#(match),"action":\#(Self.faults[round - 1]),"times":\#(times)}"#
            _ = try await run.rig.control("POST", "/faults", fault)
            run.disturbances += times
        }
        #expect(audit.duplicates >= lostAnswers, "each lost answer causes a duplicate")
        // A stalled or broken stream may affect other streams of its connection.
        #expect(audit.duplicates <= lostAnswers + 4 * times * ChaosRun.inFlight)
    }

    private func areFaultsUsed(_ rig: Rig) async throws -> Bool {
        struct Fault: Decodable { var times_left: Int? }
        let faults = try JSONDecoder().decode([Fault].self, from: try await rig.control("GET", "/faults"))
        return faults.allSatisfy { $0.times_left == 0 }
    }

    /// Connections reset under load, then a peer that does not speak TLS, then a path that drops the answers.
    @Test(arguments: HTTPEngine.allCases) func brokenConnections(engine: HTTPEngine) async throws {
        let rounds = ChaosScale.rounds(short: 3, longShare: 0.3)
        let box = ProxyBox()
        defer { box.proxy?.stop() }
        let (run, audit) = try await chaos(
            "brokenConnections, \(engine.rawValue)",
            rounds: rounds,
            part: 700,
            requestTimeoutMs: 3_000,
            endpoint: { rig in
                let proxy = try ChaosProxy(upstream: UInt16(rig.tlsPort))
                box.proxy = proxy
                return "https://localhost:\(proxy.port)"
            },
            environment: engine.variable
        ) { run, round in
            switch round % 3 {
            case 1: box.proxy?.reset()
            case 2: box.proxy?.speakGarbage()
            default: box.proxy?.swallow(.toClient)
            }
            try await Task.sleep(for: .seconds(run.draw(0.5...1.5)))
            box.proxy?.heal()
            run.disturbances += 1
            try await run.measureRecovery(since: .now)
        }
        #expect(audit.duplicates <= 2 * rounds * run.maximumInFlight * run.fleet.count)
    }

    private final class ProxyBox { var proxy: ChaosProxy? }
}

extension HTTPEngine {
    /// The environment variable by which a worker uses this engine.
    var variable: [String: String] { ["FANFARE_HTTP_ENGINE": rawValue] }
}
