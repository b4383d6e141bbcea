import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Calls that a dead connection still delivers after its worker has a later one.
@Suite struct ConnectionTests {
    private func claim(_ connection: Int, _ worker: String = "w1") -> ClaimCall {
        var call = ClaimCall(
            worker: worker,
            most: 4,
            wanted: 10,
            wantedSingle: 10,
            window: 8,
            retries: 10,
            quotaPerMinute: 600_000
        )
        call.connection = connection
        return call
    }

    private func isRefused(_ bench: LibraryBench, _ command: RedisCommand) async throws -> Bool {
        do {
            _ = try await bench.call(command)
            return false
        } catch let error as RedisError {
            #expect(error.message.contains("OLDLINK"), "\(error)")
            return true
        }
    }

    @Test func claimOverAnOldConnectionTakesNothing() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1))
            let reconcile = FunctionLibrary.reconcile(
                bench.keys,
                worker: "w1",
                connection: 3,
                isSameServer: true,
                known: []
            )
            _ = try await bench.call(reconcile)
            #expect(try await isRefused(bench, claim(2).command(bench.keys)))
            // Another worker's connections are its own.
            let other = try await bench.claim(claim(1, "w2")).claims
            #expect(other.map(\.job) == ["j"])
        }
    }

    @Test func intakeOverAnOldConnectionIsQueuedAndReconcileRefused() async throws {
        try await withBench { bench in
            _ = try await bench.claim(claim(5))
            let entry = try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string)
            let job = Job(id: "j", hasOwnID: true, entryID: entry, target: tokens(1), message: Array("{}".utf8))
            // By the bench's connection 0, which is an earlier one.
            #expect(try await bench.intake(job, taker: "w1") == .queued)
            let claimed = try await bench.claim(claim(5)).claims
            #expect(claimed.map(\.job) == ["j"])
            let late = FunctionLibrary.reconcile(bench.keys, worker: "w1", connection: 4, isSameServer: true, known: [])
            #expect(try await isRefused(bench, late))
            try await bench.finish(try #require(claimed.first), "w1")
            // What is found out is accepted from anyone, and a worker that is gone leaves no number behind.
            _ = try await bench.call(FunctionLibrary.deregister(bench.keys, worker: "w1"))
            #expect(try await bench.call(RedisCommand("HEXISTS", bench.keys.base + "links", "w1")).integer == 0)
        }
    }

    /// A topic's send that certainly did not begin is made in its turn, like any other of the project.
    @Test func unsentBroadcastTakesItsTurn() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news")) { $0.audienceSize = 100_000 }
            try await bench.intake("fan", tokens(1_001)) { $0.priority = 4 }
            let taken = try await bench.claim(claim(1)).claims
            #expect(taken.map(\.job) == ["topic"])
            // The answer was lost: the worker does not know of it.
            let ask = FunctionLibrary.reconcile(bench.keys, worker: "w1", connection: 2, isSameServer: true, known: [])
            #expect(ReconcileReply(try await bench.call(ask))?.freed == 1)
            let active = try await bench.active()
            #expect(active == ["topic"])
            let again = try await bench.claim(claim(1, "w2")).claims
            #expect(again.map(\.job) == ["topic"] && again.first?.watermark == 0)
            // Given back once more, and preempted meanwhile: it waits.
            let epoch = try #require(again.first?.epoch)
            let release = FunctionLibrary.release(bench.keys, worker: "w2", batch: "topic/0", epoch: epoch)
            #expect(try await bench.call(release).integer == 1)
            try await bench.intake("now", tokens(1_001)) { $0.priority = 9 }
            let urgent = try await bench.claim(claim(1, "w2")).claims
            #expect(Set(urgent.map(\.job)) == ["now"])
            let rest = try await bench.claim(claim(2)).claims
            #expect(Set(rest.map(\.job)) == ["now"])
            for claim in urgent { try await bench.finish(claim, "w2") }
            for claim in rest { try await bench.finish(claim, "w1") }
            let last = try await bench.claim(claim(2)).claims
            #expect(last.map(\.job) == ["topic"])
            let turn = try await bench.map(RedisCommand("HGETALL", bench.keys.base + "active"))["topic"]
            #expect(turn?.hasSuffix("|?") == true)
        }
    }
}
