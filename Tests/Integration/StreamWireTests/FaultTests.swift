import RedisTransport
import StreamWire
import TestSupport
import Testing

/// An error at any command of any function loses nothing and counts nothing twice.
///
/// Every scenario is played once for each of its calls and each command of that call. From that command on all commands of the
/// call raise an error. Then the call is repeated without one, and the scenario continues to its end.
@Suite struct FaultTests {
    private func everyFault(_ scenario: Scenario) async throws {
        let server = try RedisServer(config: ["--appendonly", "no"])
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        _ = try await client.send(FaultyLibrary.load())
        let bench = LibraryBench(server: server, client: client)
        let clean = try await FaultRun(bench, faultyCall: 0, k: 0)
        let expected = try await scenario.play(clean)
        #expect(try await clean.audit(expected) == [], "\(scenario.testDescription) without a fault")
        var faults = 0
        for call in 1...clean.calls {
            for k in 1... {
                let run = try await FaultRun(bench, faultyCall: call, k: k)
                let expected = try await scenario.play(run)
                guard run.wasHit else { break }
                faults += 1
                let wrong = try await run.audit(expected)
                #expect(wrong == [], "\(scenario.testDescription): call \(call), command \(k)")
            }
        }
        #expect(faults > 10, "\(scenario.testDescription): \(faults) faults")
    }

    @Test func faultsAroundSinglesLoseNothing() async throws { try await everyFault(.singles) }

    @Test func faultsAroundCompactJobsLoseNothing() async throws { try await everyFault(.compact) }

    @Test func faultsOfAFanoutLoseNothing() async throws { try await everyFault(.fanout) }

    @Test func faultsOfRetriesLoseNothing() async throws { try await everyFault(.retries) }

    @Test func faultsOfOperatorsCallsLoseNothing() async throws { try await everyFault(.operators) }

    @Test func faultsAroundDeadWorkersLoseNothing() async throws { try await everyFault(.deadWorkers) }

    @Test func faultsOfACopyAndOfTimesLoseNothing() async throws { try await everyFault(.audienceAndTimes) }

    @Test func faultsOfARejectionLoseNothing() async throws { try await everyFault(.rejection) }

    @Test func faultsOfCanariesLoseNothing() async throws { try await everyFault(.canaries) }

    @Test func faultsOfStopsAndWindowsLoseNothing() async throws { try await everyFault(.stopAndWindow) }
}
