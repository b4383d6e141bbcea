import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Backpressure from unread results and from a nearly full Redis. Workers stop without losing anything and continue
/// when the cause ends.
@Suite struct PressureChaos {
    private static let inFlight = 20
    private static let workers = 2
    private static let delayMs = 100
    private static let timing = "max_in_flight: \(inFlight), window: 8"

    /// Results that may still be written above the limit. A worker's view of the backlog is at most 250 ms old, and
    /// sends in flight finish.
    private static var window: Int { workers * inFlight * 250 / delayMs + workers * inFlight }

    @Test func unreadResults() async throws {
        let limit = 50
        let singles = ChaosScale.isLong ? 10_000 : 250
        let many = ChaosScale.isLong ? 60_000 : 800
        let late = 50
        try await withRig { rig in
            let started = ContinuousClock.now
            let (configuration, results) = try await begin(rig, "backlog_limit: \(limit)")
            _ = try await rig.client.send(RedisCommand("XGROUP", "CREATE", results, "readers", "0", "MKSTREAM"))
            try await pushMany(rig, "many", many)
            for index in 0..<singles { try await pushOne(rig, index) }

            try await Wait.until("backpressure\n\(rig.logs)") { try await rig.pressure() == "results" }
            let sends = try await rig.standstill()
            let unread = try await rig.length("results")
            #expect(try await rig.state(configuration).hasPrefix("backpressure: the stream results "))
            #expect(unread > limit && unread <= limit + Self.window, "\(unread) entries")
            #expect(try await rig.stats().sends == sends, "workers sent during backpressure")
            let before = try await rig.length("jobs")
            // A fast machine may have taken in all earlier jobs. Jobs pushed during backpressure have to wait.
            for index in singles..<singles + late { try await pushOne(rig, index) }
            #expect(try await rig.standstill() == sends, "workers sent new jobs during backpressure")
            let waiting = try await rig.length("jobs")
            // A blocking read that began earlier may return one entry to each worker.
            #expect(waiting >= before + late - Self.workers, "jobs without intake stay in the stream")

            let reader = try await read(rig, results, until: singles + late + 1)
            #expect(reader.most <= limit + Self.window, "\(reader.most) entries were unread at once")
            // The stream was not trimmed: it still holds every entry ever added.
            let info = try await rig.client.send(RedisCommand("XINFO", "STREAM", results)).array ?? []
            let at = try #require(info.firstIndex { $0.string == "entries-added" })
            #expect(info[at + 1].integer == Int64(try await rig.length("results")))
            try await expectOneResultEach(rig, reader.seen, singles: singles + late, many: many)
            print(
                "unread results: limit \(limit), stopped at \(unread) entries with \(waiting) jobs waiting,"
                    + " at most \(reader.most) unread, \(singles + late + many) recipients with one result each"
                    + String(format: ", %.0f s", started.duration(to: .now) / .seconds(1))
            )
        }
    }

    @Test func nearlyFullRedis() async throws {
        let rounds = ChaosScale.rounds(short: 1, longShare: 0.1)
        try await withRig { rig in
            let started = ContinuousClock.now
            let (configuration, _) = try await begin(rig, "")
            // Ballast, beside which the server's own memory changes do not matter.
            _ = try await rig.client.send(RedisCommand("SETRANGE", "ballast", "16777216", "x"))
            var figures: [String] = []
            for round in 0..<rounds {
                let before = try await rig.stats().sends
                try await pushMany(rig, "many-\(round)", 900)
                try await Wait.until("some sends") { try await rig.stats().sends >= before + 200 }
                try await use(rig, share: 0.9)
                try await Wait.until("backpressure\n\(rig.logs)") { try await rig.pressure() == "memory" }
                let sends = try await rig.standstill()
                for index in 0..<100 { try await pushOne(rig, round * 100 + index) }
                #expect(try await rig.state(configuration) == "backpressure: Redis is nearly out of memory")
                try await use(rig, share: 0.78)
                // Workers check the memory five times a second.
                #expect(try await rig.standstill(quietMs: 800) == sends, "workers continued above 75 %")
                // A blocking read that began earlier may return one entry to each worker, which then waits as a job.
                let waiting = try await rig.length("jobs")
                #expect(waiting >= 100 - Self.workers && waiting <= 100, "pushed jobs stay in the stream: \(waiting)")
                try await use(rig, share: 0.6)
                let lifted = ContinuousClock.now
                try await Wait.until("further sends") { try await rig.stats().sends > sends }
                figures.append(String(format: "%.2f s", lifted.duration(to: .now) / .seconds(1)))
                try await rig.finished("many-\(round)")
                for index in 0..<100 { try await rig.finished("one-\(round * 100 + index)") }
            }
            let results = try await rig.results()
            #expect(results.values.allSatisfy { $0.count == Set($0.map(\.i)).count })
            #expect(results.values.joined().allSatisfy { $0.attempts == 1 })
            let stats = try await rig.stats()
            #expect(stats.sends == rounds * 1_000 && stats.duplicates == 0)
            print(
                "nearly full Redis: \(rounds) times, \(stats.sends) recipients with one send and one result each,"
                    + " continued after \(figures.joined(separator: ", "))"
                    + String(format: ", %.0f s", started.duration(to: .now) / .seconds(1))
            )
        }
    }

    // MARK: Parts

    private func begin(_ rig: Rig, _ extra: String) async throws -> (configuration: String, results: String) {
        try await rig.startSandbox()
        _ = try await rig.addFault(#"{"match":{"path":"/v1/"},"action":{"delay_ms":\#(Self.delayMs)}}"#)
        let configuration = try rig.configuration(worker: Self.timing, extra: extra)
        for _ in 0..<Self.workers { try await rig.startWorker(configuration) }
        return (configuration, "fanfare:{\(rig.project)}:results")
    }

    private func pushMany(_ rig: Rig, _ id: String, _ count: Int) async throws {
        let tokens = Rig.tokens((0..<count).map { "\(id)-\($0)" })
        try await rig.push(["id": id, "message": data, "tokens": tokens, "results": "all"])
    }

    private func pushOne(_ rig: Rig, _ index: Int) async throws {
        try await rig.push(["id": "one-\(index)", "message": data, "token": "one-\(index)", "results": "all"])
    }

    /// Sets `maxmemory` so that Redis' current memory is this share of it.
    private func use(_ rig: Rig, share: Double) async throws {
        let info = try await rig.client.send(RedisCommand("INFO", "memory")).string ?? ""
        let line = try #require(info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") })
        let used = try #require(Double(line.dropFirst("used_memory:".count)))
        let most = String(Int(used / share))
        _ = try await rig.client.send(RedisCommand("CONFIG", "SET", "maxmemory", most))
    }

    /// Reads and acknowledges results like a returning consumer, until `jobs` jobs have results and no entry is left.
    ///
    /// - Returns: the results by job, and the most unread entries seen.
    private func read(
        _ rig: Rig,
        _ results: String,
        until jobs: Int
    ) async throws -> (seen: [String: [Rig.Recipient]], most: Int) {
        var seen: [String: [Rig.Recipient]] = [:]
        var most = 0
        try await Wait.until("the results\n\(rig.logs)", seconds: ChaosScale.timeoutSeconds, everyMs: 10) {
            let groups = try await rig.client.send(RedisCommand("XINFO", "GROUPS", results)).array ?? []
            let group = try #require(groups.first?.array)
            func number(_ name: String) -> Int {
                group.firstIndex { $0.string == name }.flatMap { group[$0 + 1].integer }.map(Int.init) ?? 0
            }
            most = max(most, number("pending") + number("lag"))
            // A job that is done has written its last result, so that the read after it finds every one.
            let isDone = try await rig.job("many")["state"] == "done"
            let reply = try await rig.client.send(
                RedisCommand("XREADGROUP", "GROUP", "readers", "r", "COUNT", "50", "STREAMS", results, ">")
            )
            let entries = (reply.array?.first?.array?.last?.array ?? []).compactMap { StreamEntry($0) }
            for entry in entries {
                let fields = Dictionary(uniqueKeysWithValues: entry.fields.map { ($0.name, $0.value) })
                let job = String(decoding: try #require(fields["job"]), as: UTF8.self)
                let list = try JSONDecoder().decode([Rig.Recipient].self, from: Data(try #require(fields["results"])))
                seen[job, default: []] += list
                _ = try await rig.client.send(RedisCommand("XACK", results, "readers", entry.id))
            }
            return isDone && entries.isEmpty && seen.count == jobs
        }
        return (seen, most)
    }

    private func expectOneResultEach(
        _ rig: Rig,
        _ seen: [String: [Rig.Recipient]],
        singles: Int,
        many: Int
    ) async throws {
        #expect(seen["many"]?.map(\.i).sorted() == Array(0..<many))
        for index in 0..<singles {
            #expect(seen["one-\(index)"]?.map(\.i) == [0])
        }
        let stats = try await rig.stats()
        #expect(stats.sends == singles + many && stats.duplicates == 0)
        #expect(try await rig.privateKeys().isEmpty)
    }
}
