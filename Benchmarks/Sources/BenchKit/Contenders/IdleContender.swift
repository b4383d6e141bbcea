internal import Foundation

/// Workers that serve many projects and have nothing to send, or little in a few of them.
struct IdleContender: Contender {
    static let redisShare = Measure.figure("redis_percent", "Redis %", decimals: 2)
    static let workerShare = Measure.figure("worker_percent", "a worker %", decimals: 2)
    static let commands = Measure.figure("commands_per_second", "commands/s", decimals: 0)
    static let served = Measure.figure("serve_seconds", "served s", decimals: 2)

    let name: String
    let summary: String
    private let bench: Bench
    private let projects: Int
    private let workers: Int
    /// Projects that get a push to one recipient five times a second.
    private let busy: Int
    private let seconds: Double

    init(_ bench: Bench, name: String, projects: Int, workers: Int, busy: Int = 0, seconds: Double) {
        (self.name, self.bench, self.projects, self.workers) = (name, bench, projects, workers)
        (self.busy, self.seconds) = (busy, seconds)
        summary =
            "\(projects) projects, \(workers) workers, " + (busy == 0 ? "nothing to send" : "\(busy) projects busy")
    }

    /// - Parameter sends: not used: time is what passes.
    func run(sends: Int) throws -> RunSample {
        let sink = try bench.sink()
        defer { sink.stop() }
        var settings = WorkerSettings()
        settings.projects = projects
        let started = Patience.now()
        let fleet = try bench.fleet(sink.target, workers: workers, settings: settings)
        defer { fleet.stop() }
        let names = settings.projectNames
        try waitUntilServed(names, by: fleet)
        let served = Patience.now() - started
        // What follows a start once is over: the checks of ten projects take a second.
        try pass(15 + Double(projects) / 10, fleet) {}
        var pushed = 0
        let push = {
            for project in names.prefix(busy) {
                pushed += 1
                let job = JobWatch(redis: fleet.redis, project: project, id: "single-\(pushed)")
                try job.push(.tokens(#"["token-\#(pushed)"]"#))
            }
        }
        // Each worker learns of each busy project with its first push of it.
        if busy > 0 { try pass(20, fleet, push) }
        let before = try callsSoFar(fleet.redis)
        let first = pushed
        let (_, reading) = try fleet.meter(sink: nil) { try pass(seconds, fleet, push) }
        let commands = try callsSoFar(fleet.redis) - before
        let wall = reading.wallSeconds
        return reading.sample(
            sends: max(1, pushed - first),
            figures: [
                Self.redisShare.name: 100 * reading.redisCPUSeconds / wall,
                Self.workerShare.name: 100 * reading.cpuSeconds / wall / Double(workers),
                Self.commands.name: Double(commands) / wall, Self.served.name: served,
            ]
        )
    }

    /// Each project has the lease of each worker, and a worker that reads its stream.
    private func waitUntilServed(_ projects: [String], by fleet: Fleet) throws {
        var rest = projects[...]
        try Patience.wait(for: "the projects to be served", seconds: 120, every: 0.02) { () -> Void? in
            try fleet.throwIfEnded()
            while let project = rest.first {
                let leases = try fleet.redis.client.send("HLEN", "fanfare:{\(project)}:leases")
                guard case .integer(let count) = leases, count >= workers else { return nil }
                let groups = try fleet.redis.client.send("XINFO", "CONSUMERS", "fanfare:{\(project)}:jobs", "fanfare")
                guard case .array(let consumers) = groups, consumers.count >= workers else { return nil }
                rest = rest.dropFirst()
            }
            return ()
        }
    }

    private func callsSoFar(_ redis: PrivateRedis) throws -> Int {
        try redis.info("commandstats").calls.values.reduce(0, +)
    }

    /// Time passes while the workers work; one that ends is an error. `body` runs five times a second.
    private func pass(_ seconds: Double, _ fleet: Fleet, _ body: () throws -> Void) throws {
        let end = Patience.now() + seconds
        try Patience.wait(for: "the time to pass", seconds: seconds + 30, every: 0.2) { () -> Void? in
            try fleet.throwIfEnded()
            try body()
            return Patience.now() >= end ? () : nil
        }
    }
}
