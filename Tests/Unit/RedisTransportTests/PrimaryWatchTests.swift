import Testing

@testable import RedisTransport

/// Whether the primary in use is still the primary, by the answers of three Sentinels.
@Suite struct PrimaryWatchTests {
    private static let old = SentinelAnswer(address: .tcp(host: "old", port: 1), epoch: 3)
    private static let new = SentinelAnswer(address: .tcp(host: "new", port: 1), epoch: 4)
    /// Of Sentinels that were set up again.
    private static let reset = SentinelAnswer(address: .tcp(host: "new", port: 1), epoch: 0)
    /// Of a Sentinel that was cut off before an earlier failover.
    private static let former = SentinelAnswer(address: .tcp(host: "former", port: 1), epoch: 2)
    private static let replaced = PrimaryWatch.Status.replaced(by: new.address)

    @Test(arguments: [
        ([old, old, old], PrimaryWatch.Status.confirmed), ([old, old, nil], .confirmed),
        ([old, nil, nil], .unconfirmed),
        ([nil, nil, nil], .unconfirmed), ([new, new, new], replaced), ([new, new, nil], replaced),
        ([old, new, new], replaced), ([reset, reset, old], replaced), ([old, old, new], .confirmed),
        ([new, nil, nil], replaced), ([old, new, nil], replaced), ([reset, nil, nil], .unconfirmed),
        ([former, nil, nil], .unconfirmed), ([former, old, nil], .unconfirmed), ([former, old, old], .confirmed),
        ([former, old, new], replaced),
    ])
    func aMajorityDecidesThenALaterFailover(_ answers: [SentinelAnswer?], _ verdict: PrimaryWatch.Status) {
        for shift in 0..<3 {
            var watch = PrimaryWatch(sentinels: 3)
            for (index, answer) in answers.enumerated() {
                if let answer { watch.record(answer, from: (index + shift) % 3, nowMs: 1_000) }
            }
            #expect(watch.status(of: Self.old, nowMs: 1_000) == verdict, "shifted by \(shift)")
            #expect(watch.answering(nowMs: 1_000) == answers.count { $0 != nil })
        }
    }

    @Test func anAnswerCountsForTwoSeconds() {
        var watch = PrimaryWatch(sentinels: 3)
        watch.record(Self.old, from: 0, nowMs: 1_000)
        watch.record(Self.old, from: 1, nowMs: 2_000)
        #expect(watch.status(of: Self.old, nowMs: 3_000) == .confirmed)
        #expect(watch.status(of: Self.old, nowMs: 3_001) == .unconfirmed)
        #expect(watch.answering(nowMs: 3_001) == 1)
        #expect(watch.answering(nowMs: 4_001) == 0)
    }

    @Test func theLatestAnswerOfASentinelCounts() {
        var watch = PrimaryWatch(sentinels: 3)
        for sentinel in 0..<3 { watch.record(Self.old, from: sentinel, nowMs: 0) }
        watch.record(Self.new, from: 2, nowMs: 500)
        #expect(watch.status(of: Self.old, nowMs: 500) == .confirmed, "two of three do not know of it yet")
        watch.record(Self.new, from: 0, nowMs: 600)
        #expect(watch.status(of: Self.old, nowMs: 600) == Self.replaced)
        #expect(watch.status(of: Self.new, nowMs: 600) == .confirmed)
    }

    @Test func aSentinelThatIsAwayHasNoVote() {
        var watch = PrimaryWatch(sentinels: 3)
        for sentinel in 0..<3 { watch.record(Self.old, from: sentinel, nowMs: 0) }
        watch.removeAnswer(from: 0)
        #expect(watch.status(of: Self.old, nowMs: 0) == .confirmed)
        watch.removeAnswer(from: 1)
        #expect(watch.status(of: Self.old, nowMs: 0) == .unconfirmed)
    }

    /// The watch confirms the primary that the same answers located: a connection never alternates.
    @Test func chosenPrimaryIsConfirmedByTheSameAnswers() throws {
        let all = [Self.old, Self.new, Self.reset, Self.former, nil]
        for first in all {
            for second in all {
                for third in all {
                    let answers = [first, second, third]
                    var watch = PrimaryWatch(sentinels: 3)
                    for (index, answer) in answers.enumerated() {
                        if let answer { watch.record(answer, from: index, nowMs: 0) }
                    }
                    guard let choice = SentinelAnswer.choice(of: answers.compactMap { $0 }, sentinels: 3) else {
                        continue
                    }
                    let verdict = watch.status(of: choice.answer, nowMs: 0)
                    #expect(verdict == (choice.isMajority ? .confirmed : .unconfirmed))
                }
            }
        }
    }
}
