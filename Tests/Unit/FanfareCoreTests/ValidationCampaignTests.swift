import FanfareModel
import Testing

@testable import FanfareCore

/// The fields of personal jobs and guards, as an entry has them.
@Suite struct ValidationCampaignTests {
    private static let one = #"[{"token":"a"}]"#

    static let refused: [BadEntry] = [
        BadEntry(["recipients": "[]"], "recipients: empty, at least 1"),
        BadEntry(
            ["recipients": #"[{"token":"a"},{"token":"b c"}]"#],
            "recipients[1].token: byte 1 is not one of A-Z a-z 0-9 _ : . -"
        ),
        BadEntry(["recipients": one, "token": "a"], "recipients: exactly one target, token is given too"),
        BadEntry(["recipients": one, "audience_format": "json"], "audience_format: only with audience"),
        BadEntry(
            ["audience": "a:{demo}", "audience_format": "csv"],
            "audience_format: \"csv\" is not one of token, json"
        ),
        BadEntry(
            ["tokens": "[\"a\"]", "variants": "{}"],
            "variants: only with recipients, or an audience with audience_format=json"
        ),
        BadEntry(
            ["audience": "a:{demo}", "variants": "{}"],
            "variants: only with recipients, or an audience with audience_format=json"
        ),
        BadEntry(["recipients": one, "variants": "[]"], "variants: must be an object, not an array"),
        BadEntry(
            ["recipients": one, "variants": #"{"es":{"token":"x"}}"#],
            "variants.es.token: the target is a field of the entry"
        ),
        BadEntry(
            ["recipients": one, "message": #"{"android":{"collapse_key":"{{a}}"}}"#],
            "message.android.collapse_key: a placeholder is not allowed here"
        ),
        BadEntry(["token": "a", "rate": "60"], "rate: only with tokens, fids, recipients or audience"),
        BadEntry(["topic": "t", "canary": "1%"], "canary: only with tokens, fids, recipients or audience"),
        BadEntry(["group": "g", "stop_if": "failed>5%"], "stop_if: only with tokens, fids, recipients or audience"),
        BadEntry(
            ["fid": "f", "canary_wait_ms": "5"],
            "canary_wait_ms: only with tokens, fids, recipients or audience"
        ),
        BadEntry(["tokens": "[\"a\"]", "rate": "0"], "rate: 0 is not 1 to 1000000000"),
        BadEntry(
            ["tokens": "[\"a\"]", "canary": "0%"],
            "canary: \"0%\" is not a share of 0.1% to 99.9%, with at most one decimal"
        ),
        BadEntry(["tokens": "[\"a\"]", "canary_wait_ms": "5"], "canary_wait_ms: only with canary"),
        BadEntry(
            ["tokens": "[\"a\"]", "stop_if": "transport>5%"],
            "stop_if: transport is retried, and retried errors are not counted"
        ),
        BadEntry(["token": "a", "send_window": "09:00-09:00 Etc/UTC"], "send_window: the two times are equal"),
        BadEntry(
            ["op": "group.get", "group_name": "n", "send_window": "09:00-10:00 Etc/UTC"],
            "send_window: not with group.get, which takes group_name"
        ),
        BadEntry(
            ["op": "subscribe", "topic": "t", "tokens": "[\"a\"]", "rate": "5"],
            "rate: not with subscribe, which takes topic, tokens"
        ),
    ]

    @Test(arguments: refused)
    func badFieldRejectsTheJobByName(row: BadEntry) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    private func job(_ fields: KeyValuePairs<String, String?>) throws -> Job {
        guard case .accept(let job) = EntryBuilder.decide(fields) else { throw Rejected() }
        return job
    }

    private struct Rejected: Error {}

    @Test func guardsAreKeptInCanonicalText() throws {
        let job = try job([
            "tokens": "[\"a\",\"b\"]", "rate": "0600", "canary": "5.0%", "canary_wait_ms": "1000",
            "stop_if": " failed > 5% ;unknown>0.5%", "send_window": "09:00-24:00 Europe/Madrid",
        ])
        #expect(job.guards.ratePerMinute == 600 && job.guards.canary == "5%" && job.guards.canaryWaitMs == 1_000)
        #expect(job.guards.stopIf == "failed>5%; unknown>0.5%" && job.guards.sendWindow == "09:00-00:00 Europe/Madrid")
        #expect(!job.isPersonal)
    }

    @Test(arguments: ["token": "a", "topic": "t", "condition": "'a' in topics", "group": "g", "fids": "[\"a\"]"])
    func windowFitsEverySend(target: String, value: String) throws {
        let job = try job([target: value, "send_window": "22:00-06:00 Etc/UTC"])
        #expect(job.guards.sendWindow == "22:00-06:00 Etc/UTC")
    }

    @Test func personalJobsKeepTheirElements() throws {
        let inline = try job(["recipients": #"[{"token":"a"}, {"fid":"b"}]"#, "variants": #"{"es":{}}"#])
        #expect(inline.isPersonal && inline.target == .recipients([#"{"token":"a"}"#, #"{"fid":"b"}"#]))
        #expect(inline.variants == Array(#"{"es":{}}"#.utf8))
        let audience = try job(["audience": "a:{demo}", "audience_format": "json"])
        #expect(audience.isPersonal && audience.target == .audience(key: "a:{demo}"))
        #expect(try !job(["audience": "a:{demo}", "audience_format": "token"]).isPersonal)
    }

    /// In a job that is not personal braces are text.
    @Test func bracesOfOrdinaryJobsAreText() throws {
        _ = try job(["token": "a", "message": #"{"android":{"collapse_key":"{{a}}"},"data":{"{{b":"{{c"}}"#])
    }
}
