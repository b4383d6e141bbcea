internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareModel
internal import FanfareRedis
internal import FoundationEssentials
internal import Glibc
internal import StreamWire

/// Reads all facts about Redis that the checks need. Facts that its user may not read stay unknown.
struct RedisProbe {
    let client: RedisClient
    let isCluster: Bool
    let configuration: Configuration

    func facts() async throws(RedisError) -> RedisFacts {
        var facts = try await serverFacts()
        if ([facts] + facts.primaries.map(\.facts)).contains(where: { $0.functions != .missing }) {
            try await readProjects(into: &facts)
            // A fan-out may be between two claims; look again later.
            if facts.projects.contains(where: { Self.stuckFanout(of: $0) != nil }) {
                let before = facts.projects
                try? await Task.sleep(for: .seconds(2))
                try await readProjects(into: &facts)
                for (old, new) in zip(before, facts.projects) where old.id == new.id {
                    if old.tally == new.tally, Self.stuckFanout(of: old) == Self.stuckFanout(of: new) {
                        facts.stuck[new.id] = Self.stuckFanout(of: new)
                    }
                }
            }
        } else {
            try await readPushedJobs(into: &facts)
        }
        return facts
    }

    /// The facts without the projects' facts.
    func serverFacts() async throws(RedisError) -> RedisFacts {
        try await isCluster ? clusterFacts() : facts(of: client)
    }

    /// Without functions no worker has run yet: only the jobs that producers pushed can be read.
    private func readPushedJobs(into facts: inout RedisFacts) async throws(RedisError) {
        for project in configuration.projects {
            let jobs = ProjectKeys(prefix: configuration.prefix, project: project.id).jobs
            guard let count = try await sendIfPermitted(RedisCommand("XLEN", jobs), client)?.integer else { continue }
            let reply = ["now_ms", "0", "entries", "\(count)"].map { RedisValue.bulk(Array($0.utf8)) }
            guard let overview = OverviewReply(.array(reply)) else { continue }
            facts.projects.append(ProjectSnapshot(id: project.id, overview: overview))
        }
    }

    /// Primaries without a configured project are not read: they need no functions.
    private func clusterFacts() async throws(RedisError) -> RedisFacts {
        let bases = configuration.projects.map { ProjectKeys(prefix: configuration.prefix, project: $0.id).base }
        var primaries: [(name: String, facts: RedisFacts)] = []
        for primary in try await client.primaries(having: bases) {
            let server = try await RedisSession.connect(RedisDeployment(primary), configuration)
            defer { server.close() }
            primaries.append(("\(primary)", try await facts(of: server)))
        }
        guard var facts = primaries.first?.facts else {
            throw RedisError(.clusterDown, "no node serves the slots of the configured projects")
        }
        facts.primaries = primaries
        return facts
    }

    private func facts(of client: RedisClient) async throws(RedisError) -> RedisFacts {
        var facts = RedisFacts()
        facts.info = RedisFacts.info(try await client.send(RedisCommand("INFO")).string ?? "")
        let names = ["appendfsync", "min-replicas-to-write", "stop-writes-on-bgsave-error", "save"]
        var command = RedisCommand("CONFIG", "GET")
        for name in names { command.append(name) }
        let settings = try await sendIfPermitted(command, client).flatMap { NamedValues($0) }
        for name in names { facts.settings[name] = settings?.text(name) }
        facts.user = try await sendIfPermitted(RedisCommand("ACL", "WHOAMI"), client)?.string
        facts.functions = try await functions(client)
        (facts.skewMs, facts.skewErrorMs) = try await skew(client)
        return facts
    }

    /// Whether this user may run what the gateway runs, by commands that change nothing.
    ///
    /// - Returns: the server's error for the first that is refused.
    func gatewayRefusal(project: String) async throws(RedisError) -> String? {
        let keys = ProjectKeys(prefix: configuration.prefix, project: project)
        let commands = [
            RedisCommand("EXISTS", keys.base + "ctl"), RedisCommand("HGET", keys.base + "ctl", "pressure"),
            RedisCommand("GET", keys.base + "gateway:doctor"), RedisCommand("DEL", keys.base + "gateway:doctor"),
            RedisCommand("HGETALL", keys.job("doctor")),
            RedisCommand("XRANGE", keys.results, "+", "-", "COUNT", "1"),
            // Rights are judged before the id, which is no id.
            RedisCommand("XADD", keys.jobs, "NOMKSTREAM", "doctor", "message", "{}"),
        ]
        for command in commands {
            do throws(RedisError) {
                _ = try await client.send(command)
            } catch {
                if error.code == .noPerm { return "\(error)" }
                guard error.code == .server else { throw error }
            }
        }
        return nil
    }

    private func readProjects(into facts: inout RedisFacts) async throws(RedisError) {
        facts.projects = []
        let reader = FleetReader(redis: client, prefix: configuration.prefix)
        for project in configuration.projects {
            do {
                facts.projects.append(try await reader.read(project.id))
            } catch let error as RedisError where error.code == .noPerm {
                facts.accessError = "\(error)"
            } catch {
                // The check of the functions reports why.
            }
        }
    }

    /// The fan-out that holds the slot with nothing in flight and no known reason; nil if there is none.
    static func stuckFanout(of project: ProjectSnapshot) -> String? {
        let overview = project.overview
        guard ["working", "unserved"].contains(project.condition.word), project.inFlight == 0,
            let job = overview.active.first, overview.activeLeftMs[job] == nil
        else { return nil }
        return job
    }

    /// Sends a command; nil if this user may not run it or the server does not know it.
    func sendIfPermitted(_ command: RedisCommand, _ client: RedisClient) async throws(RedisError) -> RedisValue? {
        do throws(RedisError) {
            return try await client.send(command)
        } catch {
            guard error.code == .noPerm || error.code == .server else { throw error }
            return nil
        }
    }

    private func functions(_ client: RedisClient) async throws(RedisError) -> RedisFacts.Functions {
        var command = FunctionLibrary.list()
        command.append("WITHCODE")
        do throws(RedisError) {
            return RedisFacts.functions(try await client.send(command), source: FunctionLibrary.source)
        } catch {
            guard error.code == .noPerm || error.code == .server else { throw error }
            return .unknown("\(error)")
        }
    }

    /// The clock difference as the fastest of five round trips measured it.
    private func skew(_ client: RedisClient) async throws(RedisError) -> (ms: Int64, errorMs: Int64) {
        var best: (ms: Int64, errorMs: Int64)?
        for _ in 0..<5 {
            let before = Date().timeIntervalSince1970
            let redisMs = try await client.nowMs()
            let after = Date().timeIntervalSince1970
            // If this machine's clock is set back meanwhile, the round trip is negative.
            let errorMs = Int64((max(0, after - before) * 500).rounded(.up))
            let skewMs = redisMs - Int64((before + after) * 500)
            if best.map({ errorMs < $0.errorMs }) ?? true { best = (skewMs, errorMs) }
        }
        return best ?? (0, 0)
    }

    // MARK: Projects without a worker

    /// Bounds the scan to about two million keys, since Redis may hold other applications' keys.
    private static let maximumScans = 2_000

    /// Projects with pushed jobs that are not configured and have no live worker.
    func unknownProjects() async throws(RedisError) -> [(id: String, jobs: Int64)] {
        let reader = FleetReader(redis: client, prefix: configuration.prefix)
        let seen = (try? await FanfareOperator.projects(redis: client, prefix: configuration.prefix)) ?? []
        let unknown = Set(seen + (try await pushedTo())).subtracting(configuration.projects.map(\.id))
        var found: [(id: String, jobs: Int64)] = []
        for id in unknown.sorted() {
            let jobs = ProjectKeys(prefix: configuration.prefix, project: id).jobs
            // The key may hold another type.
            let count = (try? await client.send(RedisCommand("XLEN", jobs)))?.integer ?? 0
            guard count > 0 else { continue }
            if let project = try? await reader.read(id), project.workersAlive > 0 { continue }
            found.append((id, count))
        }
        return found
    }

    /// Projects that have a stream of jobs. Empty for a cluster, whose keys cannot be scanned with one cursor.
    private func pushedTo() async throws(RedisError) -> Set<String> {
        guard !isCluster else { return [] }
        var found: Set<String> = []
        var cursor = "0"
        for _ in 0..<Self.maximumScans {
            let pattern = "\(configuration.prefix):{*}:jobs"
            let scan = RedisCommand("SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "stream")
            guard let reply = try await sendIfPermitted(scan, client)?.array, reply.count == 2,
                let next = reply[0].string
            else { break }
            for name in (reply[1].array ?? []).compactMap(\.string) {
                let id = String(name.dropFirst(configuration.prefix.count + 2).dropLast("}:jobs".count))
                if ProjectID.isValid(id) { found.insert(id) }
            }
            if next == "0" { break }
            cursor = next
        }
        return found
    }
}
