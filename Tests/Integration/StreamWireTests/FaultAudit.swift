import FanfareModel
import RedisTransport
import StreamWire
import TestSupport

extension FaultRun {
    /// What is wrong after a scenario: nothing lost, counters exact, every job over, nothing left behind.
    ///
    /// - Parameter expected: by job the status of each recipient.
    func audit(_ expected: [String: [RecordCall.Status]]) async throws -> [String] {
        var wrong: [String] = []
        let results = try await outgoing("results").map { ($0["job"] ?? "", $0["results"] ?? "") }
        let feedback = Set(try await outgoing("feedback").map { "\($0["job"] ?? "") \($0["token"] ?? "")" })
        var tally: [String: Int] = [:]
        for (job, statuses) in expected {
            let text = results.filter { $0.0 == job }.map(\.1).joined()
            for (index, status) in statuses.enumerated() where !text.contains("{\"i\":\(index),\"s\":\"\(status)\"}") {
                wrong.append("\(job)/\(index) has no result \(status)")
            }
            let counts = Dictionary(grouping: statuses) { "\($0)" }.mapValues(\.count)
            tally.merge(counts) { $0 + $1 }
            let failed = feedback.filter { $0.hasPrefix("\(job) ") }.count
            if failed != counts["failed"] ?? 0 { wrong.append("\(job): \(failed) feedback entries") }
            let hash = try await bench.job(job)
            for name in ["sent", "failed", "unknown", "cancelled", "expired"]
            where hash[name] != String(counts[name] ?? 0) {
                wrong.append("\(job): \(name) is \(hash[name] ?? "-")")
            }
            let errors = Int(hash["error.UNSPECIFIED_ERROR.none"] ?? "0") ?? -1
            let expectedErrors = counts["failed"] ?? 0
            // The first version counts none.
            if errors > expectedErrors || (errors < expectedErrors && usedVersions == [.current]) {
                wrong.append("\(job): \(errors) errors")
            }
            if hash["retrying"] != "0" || !["done", "cancelled", "expired"].contains(hash["state"] ?? "") {
                wrong.append("\(job): \(hash)")
            }
        }
        if !retries.isEmpty { tally["retries"] = retries.values.reduce(0, +) }
        let base = bench.keys.base
        let counted = try await bench.map(RedisCommand("HGETALL", base + "tally"))
        if counted != tally.mapValues(String.init) { wrong.append("tally is \(counted), must be \(tally)") }
        let left = try await bench.call(RedisCommand("HGET", base + "ctl", "left")).string ?? "0"
        if left != "0" { wrong.append("left is \(left)") }
        for (name, count) in sends where count > 1 + (retries[name] ?? 0) {
            wrong.append("\(name) was sent \(count) times")
        }
        return try await wrong + leftBehind()
    }

    private func outgoing(_ stream: String) async throws -> [[String: String]] {
        let entries = try await bench.call(RedisCommand("XRANGE", bench.keys.base + stream, "-", "+")).array ?? []
        return entries.map { entry in
            let words = entry.array?.last?.array?.map { $0.string ?? "" } ?? []
            return Dictionary(
                stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) },
                uniquingKeysWith: { $1 }
            )
        }
    }

    private func leftBehind() async throws -> [String] {
        let base = bench.keys.base
        let stay: Set<String> = [
            "jobs", "results", "feedback", "dead", "ctl", "leases", "links", "news", "tally", "finished", "audit",
            "marks", "fingerprints_open", "holders",
        ]
        // The first version keeps no lists of paused jobs; `repair` corrects them.
        if usedVersions.contains(.one) {
            _ = try await bench.with(.current).call(FunctionLibrary.repair(bench.keys, cursor: "0", most: 100))
        }
        let keys = try await bench.call(RedisCommand("KEYS", "*")).array?.compactMap(\.string) ?? []
        var wrong = keys.map { String($0.dropFirst(base.count)) }
            .filter { !stay.contains($0) && !["job:", "seen:", "audience"].contains(where: $0.hasPrefix) }
            .map { "\($0) is left behind" }
        if try await bench.call(RedisCommand("XLEN", bench.keys.jobs)).integer != 0 {
            wrong.append("jobs is not empty")
        }
        let pending = try await bench.call(RedisCommand("XPENDING", bench.keys.jobs, "fanfare")).array?.first?.integer
        if pending != 0 { wrong.append("entries are pending") }
        return wrong
    }
}
