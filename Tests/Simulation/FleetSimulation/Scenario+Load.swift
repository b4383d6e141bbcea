extension Scenario {
    /// A fan-out of a minute, from idle, sent by three workers; FCM refuses a share of the sends. Refusals of half last
    /// 40 s and follow 8 s without answers; smaller shares last to the end.
    init(refusedShare: Double, seed: UInt64) {
        self.init()
        workers = 3
        served = [[0], [0], [0]]
        batchSize = 100
        maximumInFlight = 48
        window = 12
        failChance = 0
        self.refusedShare = refusedShare
        let turn = FanoutSlot.Turn(priority: 5, entryMs: Self.epochMs, entrySequence: 0, job: 0)
        let job = JobRecord(number: 0, kind: .fanout, total: 8_000, turn: turn)
        projects = [Project(quota: 18_000, jobs: [job], windowPhase: Int(seed % 60) * 1_000_000)]
        pushes = [Push(time: 0, project: 0, job: 0)]
        refusedFrom = refusedShare >= 0.5 ? 20_000_000 : 0
        if refusedShare >= 0.5 { unreachable = 8_000_000..<16_000_000 }
        lastDisturbance = refusedShare >= 0.5 ? 60_000_000 : 2_000_000_000
        deadline = 3_000_000_000
    }
}
