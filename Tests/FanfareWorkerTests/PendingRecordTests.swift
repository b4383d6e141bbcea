import FanfareCore
import FanfareModel
import StreamWire
import Testing

@testable import FanfareWorker

@Suite struct PendingRecordTests {
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
        let starts = [0] + command.ends.dropLast()
        return zip(starts, command.ends).map { String(decoding: command.bytes[$0..<$1], as: UTF8.self) }
    }

    /// What nobody asked for is written when its recipient turns out to be in doubt, and then as what it is.
    @Test func spareResultsAreWrittenInTheirPlaces() {
        var pending = PendingRecord()
        pending.append(plain(0), policy: .failures, expected: 8)
        pending.append(record(1, .unknown), policy: .failures, expected: 8)
        pending.append([plain(2), plain(3)], policy: .failures, expected: 8)
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
        var pending = PendingRecord()
        pending.append([plain(0)], policy: .none, expected: 1)
        pending.append(record(1, .failed), policy: .none, expected: 1)
        #expect(words(pending.results).contains("sf"))
        #expect(words(pending.doubtedResults()).contains("sf"))
        var all = PendingRecord()
        all.append([plain(0)], policy: .all, expected: 1)
        #expect(words(all.results).contains(#"[{"i":0,"token":"t0","status":"sent","message_id":"m0","attempts":1}]"#))
        #expect(all.plain.isEmpty, "what is written is not kept twice")
    }
}
