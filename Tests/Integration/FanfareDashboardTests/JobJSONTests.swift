import FanfareClient
import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareDashboard

/// What the project page and the job page show, without a server.
@Suite struct JobJSONTests {
    private func sample(_ atMs: Int64, errors: [String: Int64] = [:]) -> HistorySample {
        var sample = HistorySample(atMs: atMs)
        sample.sent = 100
        sample.quotaPerMinute = 600
        sample.errors = errors
        return sample
    }

    private func parsed(_ text: String) throws -> JSONValue {
        try JSONParser.parse(Array(text.utf8), limits: JSONLimits())
    }

    @Test func stepWithoutARecordIsNull() {
        let history = ProjectHistory(
            samples: [sample(0), HistorySample(atMs: 10_000), sample(20_000)],
            stepMs: 10_000,
            nowMs: 30_000
        )
        let object = HistoryJSON(history: history).object
        #expect(object["sent"] == .array([100, .null, 100]))
        #expect(object["at_ms"] == .array([0, 10_000, 20_000]) && object["p95_ms"] == .array([.null, .null, .null]))
    }

    @Test func latencyIsGivenByPercentile() {
        var one = sample(0)
        one.latency.counts[3] = 90
        one.latency.counts[6] = 10
        let object = HistoryJSON(history: ProjectHistory(samples: [one], stepMs: 10_000, nowMs: 10_000)).object
        let values = ["p50_ms", "p95_ms", "p99_ms"].map { object[$0]?.array?.first?.number?.double ?? 0 }
        #expect((25...50).contains(values[0]) && (250...500).contains(values[1]) && values[1] < values[2])
    }

    @Test func rareErrorsAreCountedAsOther() {
        let errors = Dictionary(uniqueKeysWithValues: (1...9).map { ("E\($0)", Int64($0)) })
        let history = ProjectHistory(samples: [sample(0, errors: errors)], stepMs: 10_000, nowMs: 10_000)
        let object = HistoryJSON(history: history).object["errors"]?.object
        #expect(object?.members.map(\.key) == ["E9", "E8", "E7", "E6", "E5", "E4", "other"])
        #expect(object?["other"] == .array([6]))
    }

    @Test func errorCountsThatOverflowDoNotTrap() {
        let errors = ["A": Int64.max, "B": Int64.max, "C": Int64.min]
        let samples = [sample(0, errors: errors), sample(10_000, errors: errors)]
        let history = ProjectHistory(samples: samples, stepMs: 10_000, nowMs: 20_000)
        #expect(HistoryJSON(history: history).object["errors"]?.object?.count == 3)
    }

    @Test func tokensInAMessageAreMasked() throws {
        let message = try parsed(
            #"{"token":"abcdefghij","apns":{"live_activity_token":"abcdefghij"},"data":{"Tokens":["abcdefghij"],"n":"x"}}"#
        )
        let text = PrettyJSON.text(Masking.message(message))
        #expect(!text.contains("abcdefghij") && text.contains(#""token": "abcdef…[10 characters]""#))
        #expect(text.contains(#""n": "x""#))
    }

    @Test func prettyTextKeepsNumbersAndOrder() throws {
        let value = try parsed(#"{"b":12345678901234567890,"a":[1.50,{"c":{}}],"d":[]}"#)
        let text = """
            {
              "b": 12345678901234567890,
              "a": [
                1.50,
                {
                  "c": {}
                }
              ],
              "d": []
            }
            """
        #expect(PrettyJSON.text(value) == text)
    }

    @Test func topicsAreNotMasked() throws {
        let topic = try #require(JobResult(try parsed(#"{"i":0,"topic":"news","status":"sent"}"#)))
        #expect(Masking.object(topic, isMasked: true)["topic"] == "news")
        let text = #"{"i":0,"group":"abcdefghij","group_name":"n","status":"failed","failed_tokens":["0123456789"]}"#
        let group = try #require(JobResult(try parsed(text)))
        let masked = JSONValue.object(Masking.object(group, isMasked: true)).jsonBytes
        let shown = String(decoding: masked, as: UTF8.self)
        #expect(
            !shown.contains("abcdefghij") && !shown.contains("0123456789") && shown.contains("012345…[10 characters]")
        )
    }

    @Test func textOfAPeerIsNoFormulaInATable() async throws {
        let text = #"{"i":0,"token":"t","status":"failed","raw_error":"=cmd(\"x\"),1","attempts":1}"#
        let result = try #require(JobResult(try parsed(text)))
        #expect(ResultTable.row(result, isMasked: false) == "0,token,t,failed,,\"'=cmd(\"\"x\"\"),1\",,,1,,,\r\n")
    }
}
