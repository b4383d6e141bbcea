/// Guards of fan-outs. They are drawn from a generator of their own, so that the other draws of a seed stay as they are.
extension Scenario {
    mutating func drawGuards(seed: UInt64) {
        var dice = Dice(seed: seed ^ 0x6A4D_5000)
        guard dice.chance(0.5) else { return }
        for project in projects.indices {
            for job in projects[project].jobs.indices where projects[project].jobs[job].kind == .fanout {
                guard dice.chance(0.6) else { continue }
                projects[project].jobs[job].guards = guards(of: projects[project].jobs[job], &dice)
                projects[project].failing[job] = dice.chance(0.5) ? dice.unit() * 0.5 : 0
                projects[project].resumedAfter[job] = dice.skewed(0...6_000_000)
            }
        }
    }

    private func guards(of job: JobRecord, _ dice: inout Dice) -> GuardRecord {
        var guards = GuardRecord(batchSize: batchSize)
        if dice.chance(0.5) {
            guards.maximumFailed = dice.int(20...250)
            guards.sampleSize = dice.int(4...30)
        }
        if dice.chance(0.5) {
            let size = dice.chance(0.3) ? batchSize : dice.int(1...job.total - 1)
            guards.canary = min(size, job.total - 1)
            if dice.chance(0.5) { guards.canaryWaitMs = Int64(dice.skewed(1...8_000)) }
        }
        // Without another guard always a rate. The job takes up to one and a half minutes.
        if dice.chance(0.4) || (guards.maximumFailed == nil && guards.canary == nil) {
            guards.rate = max(1, job.total * 60 / dice.int(2...90))
        }
        return guards
    }

    /// How long the guards of a job delay it at most.
    func secondsOfGuards(_ job: JobRecord) -> Int {
        guard let guards = job.guards else { return 0 }
        let rated = guards.rate.map { 61 * job.total / $0 + 2 } ?? 0
        // Each resume lets at least a sample continue.
        let stopped = guards.maximumFailed == nil ? 0 : 8 * (job.total / guards.sampleSize + 1)
        return rated + stopped + Int(guards.canaryWaitMs ?? 0) / 1_000 + 8
    }
}
