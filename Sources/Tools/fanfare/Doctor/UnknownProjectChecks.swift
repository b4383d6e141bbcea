internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

extension Check {
    /// Jobs of projects without a worker. The usual cause is a producer that misspells the project.
    static let unknownProjects = Check.redis { facts, configuration in
        facts.unknownProjects.map { project in
            let stream = ProjectKeys(prefix: configuration.prefix, project: project.id).jobs
            return .warn(
                "project \(project.id)",
                "\(project.jobs) jobs wait, it has no live worker, and this configuration does not name it",
                "name it under projects and start a worker; if it is misspelt, push to the right one and DEL \(stream)"
            )
        }
    }
}

extension RedisProbe {
    /// Bounds the scan to about two million keys, since Redis may hold other applications' keys.
    private static let maxScans = 2_000

    /// Projects with pushed jobs that are not configured and have no live worker.
    func unknownProjects() async throws(RedisError) -> [RedisFacts.UnknownProject] {
        let reader = FleetReader(redis: client, prefix: configuration.prefix)
        let seen = (try? await FanfareOperator.projects(redis: client, prefix: configuration.prefix)) ?? []
        let unknown = Set(seen + (try await pushedTo())).subtracting(configuration.projects.map(\.id))
        var unknownProjects: [RedisFacts.UnknownProject] = []
        for id in unknown.sorted() {
            let jobs = ProjectKeys(prefix: configuration.prefix, project: id).jobs
            // The key may hold another type.
            let count = (try? await client.send(RedisCommand("XLEN", jobs)))?.integer ?? 0
            guard count > 0 else { continue }
            if let project = try? await reader.read(id), project.workersAlive > 0 { continue }
            unknownProjects.append(.init(id: id, jobs: count))
        }
        return unknownProjects
    }

    /// Projects that have a stream of jobs. Empty for a cluster, whose keys cannot be scanned with one cursor.
    private func pushedTo() async throws(RedisError) -> Set<String> {
        guard !isCluster else { return [] }
        var found: Set<String> = []
        var cursor = "0"
        for _ in 0..<Self.maxScans {
            let scan = RedisCommand(
                "SCAN",
                cursor,
                "MATCH",
                "\(configuration.prefix):{*}:jobs",
                "COUNT",
                "1000",
                "TYPE",
                "stream"
            )
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
