import FanfareCore
import FanfareModel
import StreamWire
import Testing

@testable import FanfareWorker

@Suite struct FlushBufferTests {
    private func plain(_ index: Int) -> PlainResult {
        PlainResult(index: index, kind: .token, recipient: "t\(index)", messageID: "m\(index)", attempts: 1)
    }

    private func record(_ index: Int, _ status: ResultStatus) -> ResultRecord {
        ResultRecord(
            index: Int64(index),
            kind: .token,
            recipient: "t\(index)",
            status: status,
            messageID: status == .sent ? "m\(index)" : "",
            attempts: 1
        )
    }

    private func words(_ results: PackedResults) -> [String] {
        var call = RecordCall(job: "j", batch: "0", epoch: "1")
        call.results = results
        let command = call.command(ProjectKeys(prefix: "fanfare", project: "p"), worker: "w", nowMs: 0)
        return (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
    }

    /// What nobody asked for is written when its recipient turns out to be in doubt, and then as what it is.
    @Test func spareResultsAreWrittenInTheirPlaces() {
        var pending = FlushBuffer()
        pending.append(plain(0), policy: .failures, expected: 8)
        pending.append(record(1, .unknown), policy: .failures, expected: 8)
        for index in 2...3 { pending.append(plain(index), policy: .failures, expected: 8) }
        pending.append(record(4, .sent), policy: .failures, expected: 8)
        let asked = #"[{"i":1,"token":"t1","status":"unknown","attempts":1}]"#
        #expect(words(pending.results).contains(asked) && words(pending.results).contains("sUsss"))
        let doubted = (0..<5).map { index in
            index == 1
                ? #"{"i":1,"token":"t1","status":"unknown","attempts":1,"maybe_dup":true}"#
                : #"{"i":\#(index),"token":"t\#(index)","status":"sent","message_id":"m\#(index)","attempts":1,"#
                    + #""maybe_dup":true}"#
        }
        let late = words(pending.facts.doubtedResults())
        #expect(late.contains("[\(doubted.joined(separator: ","))]") && late.contains("SUSSS"))
    }

    @Test func nothingIsWrittenWhereNothingIsWanted() {
        var pending = FlushBuffer()
        pending.append(plain(0), policy: .none, expected: 1)
        pending.append(record(1, .failed), policy: .none, expected: 1)
        #expect(words(pending.results).contains("sf"))
        #expect(words(pending.doubtedResults()).contains("sf"))
        var all = FlushBuffer()
        all.append(plain(0), policy: .all, expected: 1)
        #expect(words(all.results).contains(#"[{"i":0,"token":"t0","status":"sent","message_id":"m0","attempts":1}]"#))
        #expect(all.plain.isEmpty, "what is written is not kept twice")
    }

    /// What shares a request is written as each by itself, whatever the job asks for.
    @Test(arguments: [ResultsPolicy.all, .failures, .none])
    func manyAreWrittenAsEachWouldBe(policy: ResultsPolicy) {
        let ids = ["m0", "", #"a"b"#, "m3"]
        var job = Job(
            id: "j",
            hasOwnID: true,
            entryID: "1-0",
            target: .tokens(["t0", "t1", "t2", "t3"]),
            message: Array("{}".utf8)
        )
        job.results = policy
        let claim = Claim(job: "j", epoch: "7", upto: 4, taken: ["t0", "t1", "t2", "t3"])
        let context = JobContext(id: "j", spec: JobSpec(job: job, total: 4), project: .init(id: "p"))
        let batch = ActiveBatch(claim: claim, job: context)
        let flight = Flight(batch: batch, positions: OneOrMore(0, [1, 2, 3]), member: nil)
        let verdicts = AnswerVerdicts(ids.map { .sent(messageID: $0, canonical: nil) })
        #expect(batch.closeSent(verdicts, of: flight.positions, startedMs: 5).closed == [0, 1, 2, 3])
        var (many, each) = (FlushBuffer(), FlushBuffer())
        many.append([0, 1, 2, 3][...], of: flight, verdicts, expected: 4)
        for (index, id) in ids.enumerated() {
            let result = PlainResult(index: index, kind: .token, recipient: "t\(index)", messageID: id, attempts: 1)
            each.append(result, policy: policy, expected: 4)
        }
        #expect(many.results == each.results)
        #expect(many.plain == each.plain && many.plain.count == (policy == .failures ? 4 : 0))
        #expect(many.doubtedResults() == each.doubtedResults())
    }
}
