internal import FanfareClient
internal import NIOConcurrencyHelpers
internal import StreamWire

/// What workers do with a job of a project.
enum ProjectStanding: Equatable, Sendable {
    case taking
    /// No worker has ever served the project.
    case unserved
    /// They take none now, because of the cause.
    case pressed(String)
}

/// Knows which projects workers have ever served, and of which they take no jobs now.
final class ServedProjects: Sendable {
    private struct State {
        /// Projects that workers have served. Jobs of others would wait for ever.
        var known: Set<String> = []
        /// By project: the last cause of backpressure that was read, and until when it counts.
        var pressures: [String: (cause: String?, untilNs: UInt64)] = [:]
        /// The reads of pressure in flight.
        var readings: [String: Task<String?, any Error>] = [:]
    }

    private let redis: CountedRedis
    private let prefix: String
    private let nowNs: @Sendable () -> UInt64
    private let state = NIOLockedValueBox(State())
    private static var pressureNs: UInt64 { 1_000_000_000 }

    init(redis: CountedRedis, prefix: String, nowNs: @escaping @Sendable () -> UInt64) {
        (self.redis, self.prefix, self.nowNs) = (redis, prefix, nowNs)
    }

    /// The hash that workers write with their first claim; no other process writes it.
    private func control(_ project: String) -> String { ProjectKeys(prefix: prefix, project: project).base + "ctl" }

    /// The standing of a project if it was read a moment ago.
    func recent(_ project: String) -> ProjectStanding? {
        let now = nowNs()
        return state.withLockedValue { state in
            guard state.known.contains(project), let pressure = state.pressures[project], now < pressure.untilNs else {
                return nil
            }
            return pressure.cause.map { .pressed($0) } ?? .taking
        }
    }

    /// - Throws: the error of Redis.
    func standing(of project: String) async throws -> ProjectStanding {
        guard try await contains(project) else { return .unserved }
        return try await pressure(of: project).map { .pressed($0) } ?? .taking
    }

    /// - Throws: the error of Redis.
    func contains(_ project: String) async throws -> Bool {
        if state.withLockedValue({ $0.known.contains(project) }) { return true }
        guard try await redis.reply(to: RedisCommand("EXISTS", control(project))).integer == 1 else { return false }
        state.withLockedValue { _ = $0.known.insert(project) }
        return true
    }

    /// Why workers take no jobs of a project, as a sentence; nil without backpressure. Redis is read once a second, for all
    /// requests together.
    ///
    /// - Throws: the error of Redis.
    func pressure(of project: String) async throws -> String? {
        let now = nowNs()
        let reading: Task<String?, any Error>? = state.withLockedValue { state in
            if let recent = state.pressures[project], now < recent.untilNs { return nil }
            if let reading = state.readings[project] { return reading }
            let reading = Task { try await readPressure(project, now) }
            state.readings[project] = reading
            return reading
        }
        guard let reading else { return state.withLockedValue { $0.pressures[project]?.cause } }
        return try await reading.value
    }

    private func readPressure(_ project: String, _ now: UInt64) async throws -> String? {
        defer { state.withLockedValue { $0.readings[project] = nil } }
        let cause = try await readPressure(project).map { "Workers take no jobs of the project: \($0)." }
        state.withLockedValue { $0.pressures[project] = (cause, now + Self.pressureNs) }
        return cause
    }

    private func readPressure(_ project: String) async throws -> String? {
        do {
            let keys = ProjectKeys(prefix: prefix, project: project)
            return OverviewReply(try await redis.reply(to: FunctionLibrary.overview(keys)))?.pressureText
        } catch let error as any RedisErrorReply where ["NOPERM", "function_not_found"].contains(error.replyCode) {
            // A user that may only push calls no functions. It trusts the note of workers, whether they live or not.
            let note = try await redis.reply(to: RedisCommand("HGET", control(project), "pressure")).string
            return OverviewReply.text(ofPressure: note ?? "")
        }
    }
}
