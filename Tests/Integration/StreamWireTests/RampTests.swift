import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The ramp of a project's rate at any quota, over v1 and in multicasts. The tests move the project's clock by hand.
@Suite struct RampTests {
    /// A project whose demand never ends. Its worker claims every 50 ms and reports each answer with its next claim.
    struct Project {
        enum FCM {
            case healthy, failing, silent
            /// Answers so slowly that all permits but one lapse.
            case slow
        }

        static let stepMs: Int64 = 50

        let bench: LibraryBench
        let quota: Int
        /// Recipients of a multicast; nil over v1.
        let unit: Int?
        private var lead: Int64 = 0
        private var answers = 0
        private var lapsed = 0
        /// Permits for which each claim asks.
        var wanted = 10_000
        private(set) var lendings: [(atMs: Int64, count: Int)] = []
        /// Recipients of a waiting job of one batch, which go in one multicast.
        var small = 0
        private(set) var longestSmallMs: Int64 = 0
        private var smallSinceMs: Int64?

        init(_ bench: LibraryBench, quota: Int, unit: Int?) {
            (self.bench, self.quota, self.unit) = (bench, quota, unit.map { min($0, quota / 4) })
        }

        var full: Double { 0.985 * Double(quota) / 60 }
        var floor: Double { min(full, max(full / 50, 10)) }
        var sent: Int { lendings.reduce(0) { $0 + $1.count } }

        /// Recipients that the documented ramp allows from idle.
        func area(seconds: Double) -> Double { floor * seconds + (full - floor) / 60 * seconds * seconds / 2 }

        mutating func run(seconds: Int, _ fcm: FCM = .healthy, demand: Bool = true) async throws {
            for _ in 0..<Int64(seconds) * 1_000 / Self.stepMs { try await step(fcm, demand: demand) }
        }

        /// A job of one batch comes, if the last one is gone.
        mutating func push(small count: Int) {
            guard small == 0 else { return }
            (small, smallSinceMs) = (count, lead)
        }

        private mutating func step(_ fcm: FCM, demand: Bool) async throws {
            lead += Self.stepMs
            let set = RedisCommand("HSET", bench.keys.base + "ctl", "lead", String(lead))
            _ = try await bench.client.send(set)
            var call = ClaimCall(
                worker: "w1",
                most: 0,
                wanted: 0,
                wantedSingle: 0,
                window: 1,
                retries: 0,
                quotaPerMinute: quota
            )
            if demand { call.permitsFanout = wanted }
            call.lapsed = lapsed
            if let unit { call.multicast = demand ? unit : 0 }
            if small > 0 {
                (call.multicast, call.isMulticastSmall) = (small, true)
                call.permitsFanout += small
            }
            call.answers = AnswerReport(answers: answers, failing: fcm == .failing ? answers : 0)
            let permits = try await bench.claim(call).permits
            answers = fcm == .silent || permits == 0 ? 0 : unit == nil ? permits : 1
            lapsed = fcm == .slow ? max(0, permits - 1) : 0
            answers -= lapsed
            if permits > 0 { lendings.append((lead, permits)) }
            if small > 0, permits >= small {
                longestSmallMs = max(longestSmallMs, lead - (smallSinceMs ?? lead))
                small = 0
            }
        }

        /// The most permits that 60 s and a permit's lifetime saw.
        var busiestMinute: Int {
            var most = 0
            var first = 0
            var sum = 0
            for lending in lendings {
                sum += lending.count
                while lendings[first].atMs <= lending.atMs - 60_250 {
                    sum -= lendings[first].count
                    first += 1
                }
                most = max(most, sum)
            }
            return most
        }

        func overview() async throws -> OverviewReply {
            try #require(OverviewReply(try await bench.call(FunctionLibrary.overview(bench.keys))))
        }
    }

    private static let startMs: Int64 = 1_790_000_000_000

    private func withProject(_ quota: Int, unit: Int?, _ body: (inout Project) async throws -> Void) async throws {
        try await withBench(nowMs: Self.startMs) { bench in
            var project = Project(bench, quota: quota, unit: unit)
            try await body(&project)
        }
    }

    @Test(arguments: [6_000, 40_000, 120_000, 300_000, 600_000], [nil, 1_000])
    func rampOpensAtAnyQuotaAndTransport(quota: Int, unit: Int?) async throws {
        try await withProject(quota, unit: unit) { project in
            try await project.run(seconds: 60)
            let allowed = project.area(seconds: 60)
            #expect(Double(project.sent) >= 0.85 * allowed, "\(project.sent) of \(allowed)")
            // A multicast and a bucket may go in advance.
            #expect(Double(project.sent) <= 1.02 * allowed + project.full / 4 + Double(unit ?? 0))
            try await project.run(seconds: 90)
            #expect(project.busiestMinute <= quota, "\(project.busiestMinute)")
            let level = try await project.overview().permitsPerSecond
            #expect(level >= 0.95 * project.full, "\(level) of \(project.full)")
        }
    }

    @Test(arguments: [6_000, 40_000, 300_000], [Project.FCM.failing, .silent])
    func rateFallsWhileFCMFails(quota: Int, fcm: Project.FCM) async throws {
        try await withProject(quota, unit: 1_000) { project in
            try await project.run(seconds: 60)
            let before = try await project.overview().permitsPerSecond
            try await project.run(seconds: 30, fcm)
            let after = try await project.overview().permitsPerSecond
            #expect(after <= max(project.floor, before - project.full / 4), "\(before), then \(after)")
        }
    }

    @Test(arguments: [6_000, 40_000]) func rateFallsWhenDemandEndsWithADebt(quota: Int) async throws {
        try await withProject(quota, unit: 1_000) { project in
            try await project.run(seconds: 1)
            // No worker asks for a minute: the debt of one multicast opens no ramp.
            try await project.run(seconds: 1, demand: false)
            _ = try await project.bench.client.send(
                RedisCommand("HINCRBY", project.bench.keys.base + "ctl", "at", "-60000")
            )
            try await project.run(seconds: 1, demand: false)
            let level = try await project.overview().permitsPerSecond
            #expect(level <= project.floor + 0.1 * project.full, "\(level)")
        }
    }

    @Test(arguments: [6_000, 40_000, 150_000, 400_000])
    func smallJobDoesNotWaitForTheDebtOfAFanout(quota: Int) async throws {
        try await withProject(quota, unit: 1_000) { project in
            for _ in 0..<30 {
                try await project.run(seconds: 4)
                project.push(small: 50)
                // Fifty recipients at the rate of the ramp's bottom, and a step.
                try await project.run(seconds: 1)
            }
            try await project.run(seconds: 5)
            #expect(project.small == 0)
            #expect(project.longestSmallMs <= 1_500, "a small job waited \(project.longestSmallMs) ms")
            #expect(project.busiestMinute <= quota, "\(project.busiestMinute)")
        }
    }

    @Test(arguments: [nil, 1_000]) func reasonIsGivenWhileLessThanHalfOfTheRampIsUsed(unit: Int?) async throws {
        try await withProject(40_000, unit: unit) { project in
            try await project.run(seconds: 75)
            #expect(try await project.overview().paceReason == "")
            try await project.run(seconds: 75, .silent)
            let overview = try await project.overview()
            #expect(
                overview.paceReason.contains("sends a second: FCM has not answered for 7"),
                "\(overview.paceReason)"
            )
            try await project.run(seconds: 75)
            #expect(try await project.overview().paceReason == "")
            try await project.run(seconds: 10, .silent, demand: false)
            #expect(try await project.overview().paceReason == "")
            try await project.run(seconds: 30, .silent, demand: false)
            try await project.run(seconds: 19, .silent)
            let reason = try await project.overview().paceReason
            #expect(reason.contains("sends a second: FCM has not answered for 1"), "idle time counts: \(reason)")
        }
    }

    /// The second demand is less than what the bucket has: only the lapse shows that recipients wait.
    @Test(arguments: [10_000, 100]) func reasonIsGivenWhilePermitsLapse(wanted: Int) async throws {
        try await withProject(300_000, unit: nil) { project in
            project.wanted = wanted
            try await project.run(seconds: 75)
            #expect(try await project.overview().paceReason == "")
            try await project.run(seconds: 60, .slow)
            let reason = try await project.overview().paceReason
            #expect(reason.hasSuffix(" sends a second: the workers are at their limits, such as requests in flight"))
            let sends = try #require(reason.split(separator: " ").dropFirst().first.flatMap { Int($0) })
            #expect(sends <= 40, "\(reason)")
            try await project.run(seconds: 20)
            #expect(try await project.overview().paceReason == "")
        }
    }
}
