import FanfareCore
import FanfareModel
import StreamWire
import Testing

@testable import FanfareWorker

@Suite struct ReplayBufferTests {
    private static let second: UInt64 = 1_000_000_000

    private func name(_ number: Int) -> BatchSource {
        BatchSource(job: "j\(number)", batch: "0", epoch: "\(number)", isManagement: number.isMultiple(of: 5))
    }

    /// A flush of several kinds: results that the stream gets, one that it does not, and feedback.
    private func pending(_ number: Int, policy: ResultsPolicy = .all, count: Int = 1) -> FlushBuffer {
        var pending = FlushBuffer()
        for index in 0..<count {
            let result = PlainResult(
                index: index,
                kind: .token,
                recipient: "t\(number)-\(index)",
                messageID: "m\(number)-\(index)",
                attempts: 1
            )
            pending.append(result, policy: policy, expected: count)
        }
        if number.isMultiple(of: 3) {
            pending.feedback.append(
                RecordCall.Feedback(
                    index: 0,
                    kind: "token",
                    recipient: "t\(number)",
                    action: "remove",
                    replacement: "",
                    error: "UNREGISTERED"
                )
            )
        }
        return pending
    }

    @Test func eachFlushComesBackAsItWas() {
        var facts = ReplayBuffer()
        let policies: [ResultsPolicy] = [.all, .failures, .none]
        // Small ones, which are kept side by side, and large ones between them.
        let flushes = (0..<40).map { pending($0, policy: policies[$0 % 3], count: $0 % 7 == 5 ? 100 : $0 % 4 + 1) }
        for (number, flush) in flushes.enumerated() {
            // Over several spans.
            facts.add(flush, of: name(number), now: Self.second + UInt64(number) * 50_000_000)
        }
        let taken = facts.takeAll()
        #expect(taken.map(\.source) == (0..<40).map(name))
        for (taken, flush) in zip(taken, flushes) {
            #expect(taken.facts.results == flush.results)
            #expect(taken.facts.plain == flush.plain)
            #expect(taken.facts.feedback == flush.feedback)
            #expect(taken.facts.doubtedResults() == flush.doubtedResults())
        }
        #expect(facts.takeAll().isEmpty, "they are handed in once")
    }

    @Test func whatIsOlderThanThreeSecondsIsForgotten() {
        var facts = ReplayBuffer()
        facts.add(pending(1), of: name(1), now: Self.second)
        facts.add(pending(2), of: name(2), now: 2 * Self.second)
        var later = facts
        facts.add(pending(3), of: name(3), now: 4 * Self.second)
        #expect(facts.takeAll().map(\.source.job) == ["j1", "j2", "j3"], "it is three seconds old, not older")
        later.add(pending(3), of: name(3), now: 4 * Self.second + 1)
        #expect(later.takeAll().map(\.source.job) == ["j2", "j3"])
    }

    @Test(arguments: [256, 20])
    func atAnySpeedOnlyTheLatestAreKept(count: Int) {
        var facts = ReplayBuffer()
        let all = 75_000 / count
        for number in 0..<all { facts.add(pending(number, count: count), of: name(number), now: Self.second) }
        let jobs = facts.takeAll().map(\.source.job)
        #expect(jobs.last == "j\(all - 1)")
        #expect(jobs.count >= 50_000 / count && jobs.count <= 57_000 / count, "\(jobs.count)")
        #expect(jobs == (all - jobs.count..<all).map { "j\($0)" }, "none is missing in between")
    }

    @Test func whatNoReplicaHasIsKeptLonger() {
        var facts = ReplayBuffer(awaitsReplicas: true)
        for number in 1...20 { facts.add(pending(number), of: name(number), now: UInt64(number) * Self.second) }
        var replicated = facts
        #expect(facts.takeAll().count == 20)
        replicated.markReplicated(upTo: 10 * Self.second)
        replicated.markReplicated(upTo: 5 * Self.second)
        replicated.add(pending(21), of: name(21), now: 21 * Self.second)
        #expect(replicated.takeAll().map(\.source.job) == (10...21).map { "j\($0)" })
        #expect(facts.takeAll().isEmpty)
    }

    @Test func whatAReplicaHasIsKeptForThreeSecondsAllTheSame() {
        var facts = ReplayBuffer(awaitsReplicas: true)
        for number in 1...20 {
            facts.add(pending(number), of: name(number), now: UInt64(number) * Self.second)
            facts.markReplicated(upTo: UInt64(number) * Self.second + 1)
        }
        #expect(facts.takeAll().map(\.source.job) == (17...20).map { "j\($0)" })
    }

    @Test func whatNoReplicaHasIsBounded() {
        var facts = ReplayBuffer(awaitsReplicas: true)
        for number in 0..<600 {
            facts.add(pending(number, count: 256), of: name(number), now: UInt64(number) * Self.second / 10)
        }
        let jobs = facts.takeAll().map(\.source.job)
        #expect(jobs.last == "j599")
        #expect(jobs.count >= 100_000 / 256 && jobs.count <= 107_000 / 256, "\(jobs.count)")
    }

    /// Room that a flush made and did not use is not kept for seconds.
    @Test func whatHasMuchRoomIsKeptWithoutIt() {
        let full = pending(1, count: 100)
        var sparse = FlushBuffer()
        for index in 0..<40 {
            let result = PlainResult(index: index, kind: .token, recipient: "t", messageID: "m", attempts: 1)
            sparse.append(result, policy: .all, expected: 256)
        }
        #expect(full.results.isDense && !sparse.results.isDense)
        for policy in [ResultsPolicy.failures, .none] {
            var flush = FlushBuffer()
            for index in 0..<200 {
                let id = "message-\(index)"
                let result = PlainResult(index: index, kind: .token, recipient: "token", messageID: id, attempts: 1)
                flush.append(result, policy: policy, expected: 256)
            }
            #expect(flush.results.isDense && flush.plain.isDense, "what nobody asked for takes no room: \(policy)")
        }
        var facts = ReplayBuffer()
        facts.add(sparse, of: name(1), now: 0)
        facts.add(full, of: name(2), now: 0)
        let taken = facts.takeAll()
        #expect(taken.map(\.facts.results) == [sparse.results, full.results])
        #expect(taken.map(\.facts.results.isDense) == [true, true])
    }

    @Test func aFlushWithoutResultsHasNothingToLose() {
        var facts = ReplayBuffer()
        facts.add(FlushBuffer(), of: name(1), now: Self.second)
        #expect(facts.takeAll().isEmpty)
    }
}
