/// Checks of guarded jobs. A rollback of Redis forgets grants and pauses, so nothing is checked after one.
extension Referee {
    /// What a batch may still send of a job that its condition stopped.
    struct Allowance {
        var epoch: UInt64
        /// Sends below this position were granted before.
        var watermark: Int
    }

    /// Records that a job was stopped by its condition: from this step on no watermark rises.
    func stopped(_ job: Int, of state: ProjectState) {
        tally.stops += 1
        stops[job] = state.batches.filter { $0.key.job == job && $0.value.epoch != 0 }
            .mapValues { Allowance(epoch: $0.epoch, watermark: $0.watermark) }
    }

    func resumed(_ job: Int) { stops[job] = nil }

    func checkGuards(_ send: Send, isFirst: Bool, _ box: ProjectStateBox) {
        let job = box.value.jobs[send.name.job]
        guard let guards = job.guards, !clock.hasRolledBack else { return }
        if let allowed = stops[job.number] {
            let batch = allowed[send.name]
            if batch?.epoch != send.epoch || send.position >= batch?.watermark ?? 0 {
                violate("job \(job.number) is stopped, and position \(send.position) of \(send.name) is sent")
            }
        }
        if let limit = guards.limit, send.index >= limit {
            violate("job \(job.number), recipient \(send.index): sent before its canary of \(limit) has ended")
        }
        guard let rate = guards.rate, isFirst else { return }
        // A retry, also of a recipient that its batch gave back unsent, needs no grant of the rate.
        let grant = send.name.isRetry ? nil : box.value.batches[send.name]?.grants.first { $0.below > send.position }
        // A project's hold, a slow connection or a pause keep sends back that were granted: they come on top, later.
        guard let grant, now - grant.at <= Self.promptWithin else { return tally.late += 1 }
        checkRate(rate, of: job.number)
    }

    /// First attempts that begin so long after their grant keep to the rate: of it 1.5 % are never granted.
    private static var promptWithin: Int { 900_000 }

    private func checkRate(_ rate: Int, of job: Int) {
        var times = attempts[job] ?? []
        times.append(now)
        times = times.drop { $0 <= now - 60_000_000 }
        attempts[job] = times
        // The model's time is Redis' time of the day, whose steps the product's clock absorbs.
        guard now - clock.steppedAt > 60_000_000 else { return }
        if times.count > rate {
            violate("\(times.count) first attempts of job \(job) within 60 s, the rate is \(rate)")
        }
    }
}
