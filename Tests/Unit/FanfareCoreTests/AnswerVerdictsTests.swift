import FanfareModel
import Testing

@Suite struct AnswerVerdictsTests {
    private let usual = Verdict.sent(messageID: "m", canonical: nil)
    private let nameless = Verdict.sent(messageID: "", canonical: nil)
    private let replaced = Verdict.sent(messageID: "", canonical: "c")
    private let failed = Verdict.failed(Failure(error: .unregistered, action: .remove))

    @Test func whatHasMoreToSayStandsApart() {
        let all = [usual, failed, replaced, nameless, usual, failed]
        let verdicts = AnswerVerdicts(all)
        #expect(Array(verdicts) == all)
        #expect(verdicts.sent == 3)
        #expect(verdicts.others.map(\.index) == [1, 2, 5])
        #expect(verdicts.others.map(\.verdict) == [failed, replaced, failed])
        #expect(verdicts.indices.filter(verdicts.isPlain) == [0, 3, 4])
        #expect(verdicts.messageID(0) == Array("m".utf8)[...] && verdicts.messageID(3).isEmpty)
    }

    @Test func oneNeedsNoList() {
        for verdict in [usual, nameless, replaced, failed] {
            let (one, many) = (AnswerVerdicts(verdict), AnswerVerdicts([verdict]))
            #expect(Array(one) == [verdict] && Array(many) == [verdict])
            #expect(one.sent == many.sent && one.others == many.others && one.isPlain(0) == many.isPlain(0))
            if one.isPlain(0) { #expect(one.messageID(0) == many.messageID(0)) }
        }
        #expect(AnswerVerdicts([]).isEmpty)
    }

    @Test func idsAreFoundWhereTheyStand() {
        let text = Array("..one,two".utf8)
        var ids = MessageIDs(within: text)
        ids.append(2..<5)
        ids.appendNone()
        ids.append(6..<9)
        ids.append("é")
        ids.append(9..<9)
        #expect(ids.count == 5 && !ids.has(1))
        #expect([0, 2, 3, 4].map { String(decoding: ids[$0], as: UTF8.self) } == ["one", "two", "é", ""])
        var same = MessageIDs()
        for id in ["one", nil, "two", "é", ""] { if let id { same.append(id) } else { same.appendNone() } }
        #expect(ids == same)
        same.appendNone()
        #expect(ids != same)
        let verdicts = AnswerVerdicts(ids) { $0 == 1 ? failed : usual }
        #expect(Array(verdicts)[1] == failed && verdicts[3] == .sent(messageID: "é", canonical: nil))
    }
}
