import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Poison jobs, which crash every worker that sends them, among innocent jobs.
@Suite struct PoisonChaos {
    @Test func poisonPills() async throws {
        let pills = ChaosScale.rounds(short: 3, longShare: 0.1)
        let innocents = ChaosScale.isLong ? 99 * pills : 27
        try await withRig { rig in
            let started = ContinuousClock.now
            try await rig.startSandbox()
            let lease = "lease_ms: \(ChaosRun.leaseMs), renew_ms: \(ChaosRun.leaseMs / 5)"
            let configuration = try rig.configuration(worker: lease + ", max_in_flight: 50, window: 32")
            let run = PoisonRun(rig: rig, configuration: configuration)
            for _ in 0..<3 { try await run.startWorker() }
            try await run.pushPills(pills)
            try await run.killUntilParked(innocents: innocents)
            try await run.awaitInnocents()

            let dead = try await rig.entries("dead")
            #expect(Set(dead.compactMap { $0["job"] }) == Set(run.pills.map(\.id)) && dead.count == pills)
            for entry in dead {
                #expect(entry["kind"] == "parked" && entry["reason"]?.hasPrefix("poison: batch ") == true, "\(entry)")
                #expect(entry["crashes"] == "4", "three crashes beside other batches and one in quarantine: \(entry)")
                #expect(entry["batch"]?.isEmpty == false && entry["worker"]?.hasPrefix("victim-") == true, "\(entry)")
                #expect(entry["f.message"] == PoisonRun.message && entry["f.token"]?.hasPrefix("pill-") == true)
            }
            let flagged = try await run.auditInnocents()

            // Without their faults, the replayed pills are sent; no other job changes.
            for pill in run.pills { _ = try await rig.control("DELETE", "/faults?id=\(pill.fault)") }
            try await rig.fanfare(run.configuration, ["dead", "replay", "--all", "--kind", "parked"])
            for pill in run.pills {
                #expect(try await rig.finished(pill.id)["sent"] == "1")
                let results = try await rig.results(pill.id)
                #expect(results.count == 1 && results.first?.maybe_dup == true, "\(results)")
            }
            #expect(try await rig.length("dead") == 0)
            #expect(try await rig.privateKeys().isEmpty)
            let waits = run.waits.sorted()
            print(
                "poison: \(pills) pills among \(innocents) jobs, \(run.kills) workers killed, \(dead.count) parked,"
                    + " \(flagged) innocent recipients flagged, innocent jobs ended after p50 "
                    + String(format: "%.2f s max %.2f s", waits[waits.count / 2], waits.last ?? 0)
                    + String(format: ", %.0f s", started.duration(to: .now) / .seconds(1))
            )
            #expect(run.kills <= 4 * pills)
            // A job whose worker dies waits for the lease and for late answers. Most jobs lose no worker.
            #expect(waits[waits.count / 2] < 5)
            #expect(waits.last ?? 0 < 3 * (ChaosRun.leaseSeconds + 4))
        }
    }
}

/// The poison jobs, the workers killed because of them, and the innocent jobs.
private final class PoisonRun {
    struct Pill {
        var id: String
        var fault: String
        var hits = 0
    }

    static let message = #"{"data":{"k":"v"}}"#

    let rig: Rig
    let configuration: String
    private(set) var pills: [Pill] = []
    private(set) var kills = 0
    /// Seconds from the push of an innocent job to its end.
    private(set) var waits: [Double] = []
    private var fleet: [String: ChildProcess] = [:]
    private var started = 0
    private var pushed: [(id: String, tokens: [String])] = []
    private var open: [(id: String, at: ContinuousClock.Instant)] = []

    init(rig: Rig, configuration: String) {
        self.rig = rig
        self.configuration = configuration
    }

    func startWorker() async throws {
        started += 1
        let name = "victim-\(started)"
        fleet[name] = try await rig.startWorker(configuration, ["--name", name])
    }

    /// Pushes the pills. The sandbox does not answer their sends, so the sending worker keeps the pill's batch.
    func pushPills(_ count: Int) async throws {
        for index in 0..<count {
            let token = "pill-\(index)-token"
            let fault = try await rig.addFault(
                #"{"match":{"path":"/v1/","token_prefix":"\#(token)"},"action":{"delay_ms":600000}}"#
            )
            let id = "pill-\(index)"
            pills.append(Pill(id: id, fault: fault))
            try await rig.push(["id": id, "message": Self.message, "token": token, "results": "all"])
        }
    }

    /// Kills and replaces each worker that sends a pill, until every pill is parked. Meanwhile pushes innocent jobs.
    func killUntilParked(innocents: Int) async throws {
        var parked = 0
        var next = ContinuousClock.now
        let pace = Duration.milliseconds(ChaosScale.isLong ? 50 : 400)
        try await Wait.until("\(pills.count) pills to be parked\n\(rig.logs)", seconds: ChaosScale.timeoutSeconds) {
            while pushed.count < innocents, ContinuousClock.now >= next {
                try await pushInnocent()
                next += pace
            }
            try await updateInnocents()
            let hits = try await rig.faultHits()
            for index in pills.indices where hits[pills[index].fault] ?? 0 > pills[index].hits {
                pills[index].hits = hits[pills[index].fault] ?? 0
                try await killHolder(of: pills[index].id)
            }
            parked = 0
            for pill in pills where try await rig.job(pill.id)["state"] == "parked" { parked += 1 }
            return parked == pills.count
        }
        while pushed.count < innocents { try await pushInnocent() }
    }

    private func killHolder(of pill: String) async throws {
        let batches = try await rig.client.send(RedisCommand("KEYS", "fanfare:{\(rig.project)}:b:\(pill)/*")).array
        for batch in (batches ?? []).compactMap(\.string) {
            // A lease's name begins with the worker's name. A holder outside the fleet was killed for another pill
            // while this pill's send was in flight.
            guard let owner = try await rig.client.send(RedisCommand("HGET", batch, "owner")).string,
                let process = fleet.removeValue(forKey: String(owner.prefix { $0 != "." }))
            else { continue }
            process.signal(SIGKILL)
            _ = try await process.wait()
            kills += 1
            try await startWorker()
        }
    }

    private func pushInnocent() async throws {
        let id = "good-\(pushed.count)"
        let tokens = (0..<(pushed.count % 4 == 0 ? 40 : 1)).map { "\(id)-\($0)" }
        pushed.append((id, tokens))
        open.append((id, .now))
        try await rig.push([
            "id": id, "message": Self.message, "tokens": Rig.tokens(tokens), "results": "all",
        ])
    }

    private func updateInnocents() async throws {
        var left: [(id: String, at: ContinuousClock.Instant)] = []
        for job in open {
            if try await rig.job(job.id)["state"] == "done" {
                waits.append(job.at.duration(to: .now) / .seconds(1))
            } else {
                left.append(job)
            }
        }
        open = left
    }

    func awaitInnocents() async throws {
        try await Wait.until("the end of \(open.map(\.id))\n\(rig.logs)", seconds: 60) {
            try await updateInnocents()
            return open.isEmpty
        }
    }

    /// Expects one result for each recipient of the innocent jobs and a flag for each duplicate.
    ///
    /// - Returns: how many recipients are flagged.
    func auditInnocents() async throws -> Int {
        let results = try await rig.results()
        var flagged: Set<String> = []
        for job in pushed {
            let own = results[job.id] ?? []
            #expect(own.map(\.i).sorted() == Array(job.tokens.indices), "\(job.id): \(own)")
            #expect(own.allSatisfy { $0.status == "sent" })
            flagged.formUnion(own.filter { $0.maybe_dup == true }.map { job.tokens[$0.i] })
        }
        let twice = try await rig.deliveries(of: pushed.flatMap(\.tokens)).filter { $0.value > 1 }
        #expect(flagged.isSuperset(of: twice.keys), "\(twice)")
        return flagged.count
    }
}
