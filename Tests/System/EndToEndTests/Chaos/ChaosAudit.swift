import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Compares the results of every recipient, the counters of every job and the sandbox's ledger of deliveries.
struct ChaosAudit {
    private(set) var recipients = 0
    /// Recipients without a result.
    private(set) var lost = 0
    /// Results beyond a recipient's first.
    private(set) var repeated = 0
    /// Accepted sends beyond a recipient's first, as the sandbox counts them.
    private(set) var duplicates = 0
    /// Duplicates of recipients whose result has no `maybe_dup`.
    private(set) var unflagged = 0
    /// Examples of tokens with an unflagged duplicate.
    private(set) var unflaggedTokens: [String] = []
    private(set) var flagged = 0
    private(set) var unknown = 0
    /// All other inconsistencies, in words.
    private(set) var faults: [String] = []

    private var flaggedTokens: [String] = []
    private var otherTokens: [String] = []
    private var sent = 0
    private var removed: Set<String> = []

    init(_ load: ChaosLoad, _ rig: Rig) async throws {
        for project in rig.projects {
            let results = try await rig.results(in: project)
            let jobs = load.jobs.filter { $0.project == project }
            for job in jobs {
                examine(job, results[job.id] ?? [], try await rig.job(job.id, in: project), load.isAtMostOnce)
            }
            let unknownJobs = Set(results.keys).subtracting(jobs.map(\.id))
            if !unknownJobs.isEmpty { faults.append("results of jobs that were not pushed: \(unknownJobs)") }
            try await examineKeys(project, rig)
        }
        try await examineLedger(rig)
    }

    private mutating func examine(
        _ job: ChaosLoad.Job,
        _ results: [Rig.Recipient],
        _ hash: [String: String],
        _ isAtMostOnce: Bool
    ) {
        let name = "\(job.project)/\(job.id)"
        recipients += job.tokens.count
        var counts: [String: Int] = [:]
        var seen: Set<Int> = []
        for result in results {
            guard job.tokens.indices.contains(result.i), result.token == job.tokens[result.i] else {
                faults.append("\(name): a result of a recipient that the job does not have: \(result)")
                continue
            }
            guard seen.insert(result.i).inserted else {
                repeated += 1
                continue
            }
            counts[result.status, default: 0] += 1
            count(result, job.tokens[result.i], isAtMostOnce, name)
        }
        lost += job.tokens.count - seen.count
        if hash["state"] != "done" { faults.append("\(name) is \(hash["state"] ?? "gone"): \(hash["reason"] ?? "")") }
        for status in ["sent", "failed", "unknown", "cancelled", "expired"]
        where hash[status] != "\(counts[status] ?? 0)" {
            faults.append("\(name): \(status) is \(hash[status] ?? "-"), with \(counts[status] ?? 0) such results")
        }
        if hash["total"] != "\(job.tokens.count)" { faults.append("\(name): total is \(hash["total"] ?? "-")") }
        if hash["retrying"] != "0" { faults.append("\(name): retrying is \(hash["retrying"] ?? "-") at its end") }
    }

    private mutating func count(_ result: Rig.Recipient, _ token: String, _ isAtMostOnce: Bool, _ name: String) {
        if result.maybe_dup == true {
            flagged += 1
            flaggedTokens.append(token)
        } else {
            otherTokens.append(token)
        }
        if result.status == "sent" { sent += 1 }
        if result.status == "unknown" { unknown += 1 }
        if result.error == "UNREGISTERED" { removed.insert(token) }
        let expected = ChaosLoad.expected(token)
        let isNamedUnknown = isAtMostOnce && result.status == "unknown"
        if !isNamedUnknown, result.status != expected.status || result.error != expected.error {
            faults.append("\(name): \(token) should be \(expected.status): \(result)")
        }
    }

    private mutating func examineKeys(_ project: String, _ rig: Rig) async throws {
        let left = try await rig.privateKeys(in: project)
        if !left.isEmpty { faults.append("\(project): remaining private keys: \(left.prefix(5))") }
        let waiting = try await rig.client.send(RedisCommand("XLEN", "fanfare:{\(project)}:jobs")).integer
        if waiting != 0 { faults.append("\(project): \(waiting ?? -1) entries are left in jobs") }
        let dead = try await rig.entries("dead", in: project)
        if !dead.isEmpty { faults.append("\(project): dead: \(dead.prefix(2))") }
        let feedback = try await rig.entries("feedback", in: project).compactMap { $0["token"] }
        if Set(feedback).count != feedback.count { faults.append("\(project): feedback contains a token twice") }
        removed.subtract(feedback)
    }

    /// Compares the results with the sandbox, which counts duplicates exactly and lists each device's deliveries.
    /// If the flagged recipients have all the counted duplicates, no other recipient has one.
    private mutating func examineLedger(_ rig: Rig) async throws {
        if !removed.isEmpty { faults.append("no feedback for \(removed.prefix(3))") }
        let stats = try await rig.stats()
        duplicates = stats.duplicates
        if stats.accepted > 100_000 { faults.append("\(stats.accepted) sends are more than the sandbox lists") }
        let reached = stats.accepted - stats.duplicates
        if sent > reached || reached > sent + unknown {
            faults.append("\(sent) results are sent and \(unknown) unknown, but \(reached) devices were reached")
        }
        var named = 0
        for start in stride(from: 0, to: flaggedTokens.count, by: 500) where named < duplicates {
            let part = Array(flaggedTokens[start..<min(start + 500, flaggedTokens.count)])
            named += try await rig.deliveries(of: part).values.reduce(0) { $0 + max(0, $1 - 1) }
        }
        unflagged = duplicates - named
        guard unflagged != 0 else { return }
        let suspects = Array(otherTokens.prefix(20_000))
        unflaggedTokens = try await rig.deliveries(of: suspects).filter { $0.value > 1 }.keys.sorted()
    }
}

extension Rig {
    /// The number of deliveries to each of these devices; devices without a delivery are missing.
    func deliveries(of tokens: [String]) async throws -> [String: Int] {
        let connection = try LoopbackHTTP(port: controlPort)
        struct Line: Decodable { var token: String }
        var counts: [String: Int] = [:]
        for token in tokens {
            for line in try connection.request("GET", "/deliveries?token=\(token)").split(separator: 10) {
                counts[try JSONDecoder().decode(Line.self, from: Data(line)).token, default: 0] += 1
            }
        }
        return counts
    }
}
