public import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// The jobs of one local time in many zones, as `fanfare send --local-time` pushes them: one for each instant.
public struct JobParts: Equatable, Sendable {
    /// The id that their ids begin with.
    public let id: String
    /// The jobs that workers have taken and that are still kept, in the order of their start. Never empty.
    public let jobs: [JobStatus]

    init?(id: String, jobs: [JobStatus]) {
        guard !jobs.isEmpty else { return nil }
        self.id = id
        self.jobs = jobs.sorted { ($0.notBeforeMs ?? 0, $0.id) < ($1.notBeforeMs ?? 0, $1.id) }
    }

    /// The counters of all jobs together, by the names of their hashes.
    public var counters: [(name: String, count: Int64)] {
        jobs[0].counters.map(\.name).map { name in
            (name, jobs.reduce(0) { $0 + ($1.counters.first { $0.name == name }?.count ?? 0) })
        }
    }

    public var isOver: Bool { jobs.allSatisfy(\.isOver) }

    /// The state that needs attention most: an operator's first, then what moves, then what waits, then what is over.
    public var state: JobStatus.State {
        let order = [
            "parked", "paused", "active", "retrying", "waiting", "scheduled", "rejected", "cancelled", "expired",
        ]
        let states = jobs.map(\.state)
        return order.lazy.compactMap { word in states.first { $0.rawValue == word } }.first ?? states[0]
    }

    /// `id`, `state`, the sums, and `parts` with an object for each job.
    public var json: JSONObject {
        var object: JSONObject = ["id": .string(id), "state": .string(state.rawValue)]
        for (name, count) in counters { object[name] = .number(JSONNumber(count)) }
        object["parts"] = .array(jobs.map { .object(FleetJSON.object($0)) })
        return object
    }
}

extension FanfareOperator {
    /// The jobs of a local time; nil if there are none, or if the user may not look for them.
    ///
    /// Reads 72 short commands, and the jobs of each hour that has one.
    ///
    /// - Parameter family: the id that they were pushed with.
    public func parts(of family: String) async throws -> JobParts? {
        guard family.utf8.count + LocalTime.longestEnd <= Identifiers.longestJob else { return nil }
        let hours = LocalTime.sides.flatMap { side in
            (Int64(0)..<24).map { hour in
                (Int64(0)..<60).map { LocalTime.id(of: family, hour: hour, minute: $0, side: side) }
            }
        }
        let found: [[String]]
        do {
            found = try await withThrowingTaskGroup(of: [String].self) { group in
                for ids in hours {
                    group.addTask {
                        let count = try await redis.reply(to: JobInquiry.count(keys, jobs: ids)).integer ?? 0
                        return count > 0 ? ids : []
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        } catch let error as any RedisErrorReply where error.replyCode == "NOPERM" {
            return nil
        }
        var jobs: [JobStatus] = []
        for ids in found where !ids.isEmpty {
            jobs += try await Self.statuses(of: ids, redis, keys).values
        }
        return JobParts(id: family, jobs: jobs)
    }
}
