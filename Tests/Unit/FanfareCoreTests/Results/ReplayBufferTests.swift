import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

@Suite struct ReplayBufferTests {
    private static let second: UInt64 = 1_000_000_000

    private func source(_ number: Int) -> BatchSource {
        BatchSource(job: "j\(number)", batch: "0", epoch: "\(number)", isManagement: number.isMultiple(of: 5))
    }

    /// A flush of results that the stream gets, or of results that it does not, and of feedback.
    private func flush(_ number: Int, policy: ResultsPolicy = .all, count: Int = 1) -> Flush {
        let source = source(number)
        var call = RecordCall(job: source.job, batch: source.batch, epoch: source.epoch)
        for index in 0..<count {
            let record = ResultRecord(
                index: Int64(index),
                recipient: "t\(number)-\(index)",
                messageID: "m\(number)-\(index)",
                attempts: 1,
                kind: .token,
                status: .sent
            )
            call.append(record, policy: policy, expected: count)
        }
        if number.isMultiple(of: 3) {
            call.feedback = [
                RecordCall.Feedback(
                    index: 0,
                    kind: "token",
                    recipient: "t\(number)",
                    action: "remove",
                    replacement: "",
                    error: "UNREGISTERED"
                )
            ]
        }
        if number.isMultiple(of: 4) { call.subscribed = [UInt8(number)] }
        return Flush(slot: nil, source: source, call: call)
    }

    @Test func removedFlushesEqualTheAppendedOnes() {
        var buffer = ReplayBuffer()
        let policies: [ResultsPolicy] = [.all, .failures, .none]
        // Over several spans.
        let flushes = (0..<40).map { flush($0, policy: policies[$0 % 3], count: $0 % 7 == 5 ? 100 : $0 % 4 + 1) }
        for (number, flush) in flushes.enumerated() {
            buffer.append(flush, now: Self.second + UInt64(number) * 50_000_000)
        }
        let kept = buffer.removeAll()
        #expect(kept.map(\.source) == (0..<40).map(source))
        for (kept, flush) in zip(kept, flushes) {
            #expect(kept.call.results == flush.call.results && kept.call.feedback == flush.call.feedback)
            #expect(kept.call.subscribed == flush.call.subscribed)
            #expect(kept.call.results.flaggedMaybeDuplicate() == flush.call.results.flaggedMaybeDuplicate())
        }
        #expect(buffer.removeAll().isEmpty, "they are replayed once")
    }

    /// The object of a result that the stream did not get is kept without its constant parts, and written in full.
    @Test(arguments: [RecipientKind.token, .fid])
    func flaggedSpareObjectEqualsTheWantedOne(kind: RecipientKind) {
        func results(_ policy: ResultsPolicy) -> ResultBuffer {
            var call = RecordCall(source(1))
            for (index, recipient) in ["t:1", "t\u{1}\"2"].enumerated() {
                let record = ResultRecord(
                    index: Int64(index),
                    recipient: recipient,
                    messageID: "projects/p/messages/7",
                    attempts: 3,
                    kind: kind,
                    status: .sent
                )
                call.append(record, policy: policy, expected: 2)
            }
            return call.results
        }
        #expect(results(.failures).flaggedMaybeDuplicate() == results(.all).flaggedMaybeDuplicate())
    }

    @Test func resultsOlderThanThreeSecondsAreForgotten() {
        var buffer = ReplayBuffer()
        buffer.append(flush(1), now: Self.second)
        buffer.append(flush(2), now: 2 * Self.second)
        var later = buffer
        buffer.append(flush(3), now: 4 * Self.second)
        #expect(buffer.removeAll().map(\.source.job) == ["j1", "j2", "j3"], "it is three seconds old, not older")
        later.append(flush(3), now: 4 * Self.second + 1)
        #expect(later.removeAll().map(\.source.job) == ["j2", "j3"])
    }

    @Test(arguments: [256, 20])
    func onlyTheLatestResultsAreKeptAtAnySpeed(count: Int) {
        var buffer = ReplayBuffer()
        let all = 75_000 / count
        let results = flush(1, count: count).call
        for number in 0..<all {
            buffer.append(Flush(slot: nil, source: source(number), call: results), now: Self.second)
        }
        let jobs = buffer.removeAll().map(\.source.job)
        #expect(jobs.last == "j\(all - 1)")
        #expect(jobs.count >= 50_000 / count && jobs.count <= 57_000 / count, "\(jobs.count)")
        #expect(jobs == (all - jobs.count..<all).map { "j\($0)" }, "none is missing in between")
    }

    @Test func resultsThatNoReplicaHasAreKeptLonger() {
        var buffer = ReplayBuffer(awaitsReplicas: true)
        for number in 1...20 { buffer.append(flush(number), now: UInt64(number) * Self.second) }
        var replicated = buffer
        #expect(buffer.removeAll().count == 20)
        replicated.markReplicated(upTo: 10 * Self.second)
        replicated.markReplicated(upTo: 5 * Self.second)
        replicated.append(flush(21), now: 21 * Self.second)
        #expect(replicated.removeAll().map(\.source.job) == (10...21).map { "j\($0)" })
        #expect(buffer.removeAll().isEmpty)
    }

    @Test func resultsThatAReplicaHasAreKeptForThreeSeconds() {
        var buffer = ReplayBuffer(awaitsReplicas: true)
        for number in 1...20 {
            buffer.append(flush(number), now: UInt64(number) * Self.second)
            buffer.markReplicated(upTo: UInt64(number) * Self.second + 1)
        }
        #expect(buffer.removeAll().map(\.source.job) == (17...20).map { "j\($0)" })
    }

    @Test func resultsThatNoReplicaHasAreBounded() {
        var buffer = ReplayBuffer(awaitsReplicas: true)
        let results = flush(1, count: 256).call
        for number in 0..<600 {
            let flush = Flush(slot: nil, source: source(number), call: results)
            buffer.append(flush, now: UInt64(number) * Self.second / 10)
        }
        let jobs = buffer.removeAll().map(\.source.job)
        #expect(jobs.last == "j599")
        #expect(jobs.count >= 100_000 / 256 && jobs.count <= 107_000 / 256, "\(jobs.count)")
    }

    @Test func aFlushWithoutResultsHasNothingToLose() {
        var buffer = ReplayBuffer()
        buffer.append(flush(1, count: 0), now: Self.second)
        let taken = flush(2)
        var late = taken.call
        late.late = true
        buffer.append(Flush(slot: nil, source: taken.source, call: late), now: Self.second)
        #expect(buffer.removeAll().isEmpty)
    }
}
