import Foundation
import TestSupport
import Testing

/// An FCM that resets, refuses, says goodbye, freezes, answers nonsense or cannot be reached.
@Suite(.serialized) struct WireChaos {
    private static let faults = [
        #"{"reset":"CANCEL"}"#, #"{"reset":"INTERNAL_ERROR"}"#, #"{"refuse_stream":true}"#, #"{"goaway":"NO_ERROR"}"#,
        #"{"goaway":"ENHANCE_YOUR_CALM"}"#, #"{"close":true}"#, #"{"delay_ms":6000}"#, #"{"truncate":20}"#,
        #"{"html":502}"#, #"{"status":503}"#,
    ]

    /// Few each: retries are held to ten a second.
    @Test func faultsOnTheWire() async throws {
        let times = ChaosScale.rounds(short: 6, longShare: 0.5)
        let lostAnswers = 20
        let (_, audit) = try await chaos(
            "faultsOnTheWire",
            recipients: Self.faults.count * times * 20,
            lostAnswers: lostAnswers,
            delayMs: 0,
            requestTimeoutMs: 3_000
        ) { run in
            for (index, action) in Self.faults.enumerated() {
                try await run.reach(index + 1, of: Self.faults.count)
                let match = #"{"path":"/v1/","fraction":0.3}"#
                _ = try await run.rig.control(
                    "POST",
                    "/faults",
                    #"{"match":\#(match),"action":\#(action),"times":\#(times)}"#
                )
                run.harms += times
            }
        }
        // A stream that freezes or breaks takes others of its connection along.
        #expect(audit.duplicates >= lostAnswers, "the harm was done")
        #expect(audit.duplicates <= lostAnswers + 4 * times * ChaosRun.inFlight)
    }

    /// Connections reset under load, then a peer that is no TLS server, then a path that swallows what is answered.
    @Test func brokenConnections() async throws {
        let rounds = ChaosScale.rounds(short: 3, longShare: 0.3)
        let box = ProxyBox()
        defer { box.proxy?.stop() }
        let (run, audit) = try await chaos(
            "brokenConnections",
            recipients: rounds * 700,
            requestTimeoutMs: 3_000,
            endpoint: { rig in
                let proxy = try ChaosProxy(upstream: UInt16(rig.tlsPort))
                box.proxy = proxy
                return "https://localhost:\(proxy.port)"
            }
        ) { run in
            for round in 1...rounds {
                try await run.reach(round, of: rounds)
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
        }
        #expect(audit.duplicates <= 2 * rounds * run.mostInFlight * run.fleet.count)
    }

    private final class ProxyBox { var proxy: ChaosProxy? }
}
