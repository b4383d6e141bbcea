import Foundation
import TestSupport
import Testing

/// An FCM that resets, refuses, says goodbye, freezes, answers nonsense or cannot be reached.
@Suite struct WireChaos {
    private static let faults = [
        #"{"reset":"CANCEL"}"#, #"{"reset":"INTERNAL_ERROR"}"#, #"{"refuse_stream":true}"#, #"{"goaway":"NO_ERROR"}"#,
        #"{"goaway":"ENHANCE_YOUR_CALM"}"#, #"{"close":true}"#, #"{"delay_ms":6000}"#, #"{"truncate":20}"#,
        #"{"html":502}"#, #"{"status":503}"#,
    ]

    /// Few each: retries are held to ten a second. A fault takes effect on what is left of its round and on the next,
    /// so one round more brings the last of them its traffic.
    @Test func faultsOnTheWire() async throws {
        let times = ChaosScale.rounds(short: 6, longShare: 0.5)
        let lostAnswers = 20
        let (_, audit) = try await chaos(
            "faultsOnTheWire",
            rounds: Self.faults.count + 1,
            part: max(300, 20 * times),
            lostAnswers: lostAnswers,
            delayMs: 0,
            requestTimeoutMs: 3_000
        ) { run, round in
            guard round <= Self.faults.count else {
                return try await Wait.until("every fault to be spent", seconds: 60) { try await areSpent(run.rig) }
            }
            let match = #"{"path":"/v1/","fraction":0.3}"#
            let fault = #"{"match":\#(match),"action":\#(Self.faults[round - 1]),"times":\#(times)}"#
            _ = try await run.rig.control("POST", "/faults", fault)
            run.harms += times
        }
        #expect(audit.duplicates >= lostAnswers, "the harm was done")
        // A stream that freezes or breaks may take others of its connection along.
        #expect(audit.duplicates <= lostAnswers + 4 * times * ChaosRun.inFlight)
    }

    private func areSpent(_ rig: Rig) async throws -> Bool {
        struct Fault: Decodable { var times_left: Int? }
        let faults = try JSONDecoder().decode([Fault].self, from: try await rig.control("GET", "/faults"))
        return faults.allSatisfy { $0.times_left == 0 }
    }

    /// Connections reset under load, then a peer that is no TLS server, then a path that swallows what is answered.
    @Test func brokenConnections() async throws {
        let rounds = ChaosScale.rounds(short: 3, longShare: 0.3)
        let box = ProxyBox()
        defer { box.proxy?.stop() }
        let (run, audit) = try await chaos(
            "brokenConnections",
            rounds: rounds,
            part: 700,
            requestTimeoutMs: 3_000,
            endpoint: { rig in
                let proxy = try ChaosProxy(upstream: UInt16(rig.tlsPort))
                box.proxy = proxy
                return "https://localhost:\(proxy.port)"
            }
        ) { run, round in
            switch round % 3 {
            case 1: box.proxy?.reset()
            case 2: box.proxy?.speakGarbage()
            default: box.proxy?.swallow(.toClient)
            }
            try await Task.sleep(for: .seconds(run.draw(0.5...1.5)))
            box.proxy?.heal()
            run.harms += 1
            try await run.recover(since: .now)
        }
        #expect(audit.duplicates <= 2 * rounds * run.mostInFlight * run.fleet.count)
    }

    private final class ProxyBox { var proxy: ChaosProxy? }
}
