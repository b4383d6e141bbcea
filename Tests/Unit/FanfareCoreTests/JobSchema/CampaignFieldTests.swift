import FanfareCore
import Testing

/// Values of the fields of personal jobs and guards by which a schema and workers could differ, beyond the fields of
/// ``ValidationCampaignTests``.
@Suite struct CampaignFieldTests {
    private static let share = "is not a share of 0.1% to 99.9%, with at most one decimal"

    static let guards: [BadEntry] = [
        BadEntry(["tokens": #"["a"]"#, "rate": "1000000001"], "rate: 1000000001 is not 1 to 1000000000"),
        BadEntry(["tokens": #"["a"]"#, "rate": "10/s"], #"rate: "10/s" is not a whole number"#),
        BadEntry(["tokens": #"["a"]"#, "canary": "0"], "canary: 0 is not 1 to 1000000000"),
        BadEntry(["tokens": #"["a"]"#, "canary": "100%"], #"canary: "100%" \#(share)"#),
        BadEntry(["tokens": #"["a"]"#, "canary": "1.25%"], #"canary: "1.25%" \#(share)"#),
        BadEntry(
            ["tokens": #"["a"]"#, "canary": "ten"],
            #"canary: "ten" is not a number such as 1000 or a share such as 1%"#
        ),
        BadEntry(
            ["tokens": #"["a"]"#, "canary": "1", "canary_wait_ms": "0"],
            "canary_wait_ms: 0 is not 1 to 604800000"
        ),
        BadEntry(
            ["tokens": #"["a"]"#, "canary": "1", "canary_wait_ms": "604800001"],
            "canary_wait_ms: 604800001 is not 1 to 604800000"
        ),
        BadEntry(["tokens": #"["a"]"#, "stop_if": "failed>5"], #"stop_if: "5" \#(share)"#),
        BadEntry(
            ["tokens": #"["a"]"#, "stop_if": "unavailable>5%"],
            "stop_if: unavailable is retried, and retried errors are not counted"
        ),
        BadEntry(["tokens": #"["a"]"#, "stop_if": "failed>5%; failed>6%"], "stop_if: failed is given more than once"),
        BadEntry(
            ["send_window": "9:00-21:00 UTC"],
            #"send_window: "9:00-21:00 UTC" is not a window such as 09:00-21:00 Europe/Madrid"#
        ),
        BadEntry(["send_window": "24:00-08:00 UTC"], "send_window: 24:00 is not an opening time; write 00:00"),
        BadEntry(["send_window": "09:00-25:00 UTC"], "send_window: 25:00 is not 00:00 to 24:00"),
        BadEntry(["send_window": "09:00-21:00 /UTC"], #"send_window: "/UTC" is not a time zone such as Europe/Madrid"#),
    ]

    static let personalFields: [BadEntry] = [
        BadEntry(["audience_format": "json"], "audience_format: only with audience"),
        BadEntry(
            ["recipients": #"[{"token":"a"}]"#, "variants": #"{"es":"x"}"#],
            "variants.es: must be an object, not a string"
        ),
        BadEntry(["recipients": "{}"], "recipients: must be an array, not an object"),
        BadEntry(["recipients": #"["a"]"#], "recipients[0]: must be an object, not a string"),
        BadEntry(["recipients": #"[{"vars":{}}]"#], "recipients[0]: needs a token or a fid"),
        BadEntry(["recipients": #"[{"token":"a","fid":"b"}]"#], "recipients[0].fid: not together with token"),
        BadEntry(["recipients": #"[{"token":"a","name":"x"}]"#], "recipients[0].name: unknown field"),
        BadEntry(["recipients": #"[{"token":"a","vars":[]}]"#], "recipients[0].vars: must be an object, not an array"),
        BadEntry(
            ["recipients": #"[{"token":"a","variant":null}]"#],
            "recipients[0].variant: must be a string, not null"
        ),
        BadEntry(
            ["recipients": #"[{"token":"a"}]"#, "message": #"{"data":{"k":"{{a"}}"#],
            "message.data.k: the placeholder at byte 0 has no closing }}"
        ),
    ]

    @Test(arguments: guards + personalFields) func brokenFieldRejectsTheJob(_ row: BadEntry) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    /// Each string with a format may have a placeholder instead.
    private static let formats = #"""
        {
          "notification": {"title": "Hi {{n|you}}", "image": "{{p}}"},
          "android": {"notification": {"color": "{{c}}", "visibility": "{{v}}", "vibrate_timings": ["{{t}}s"]}},
          "webpush": {"fcm_options": {"link": "{{u}}"}}
        }
        """#

    static let accepted: [[(name: String, value: [UInt8])]] = [
        EntryBuilder.fields([
            "tokens": #"["a"]"#, "rate": "0060", "canary": "1000", "canary_wait_ms": "604800000",
            "stop_if": " failed > 5% ;unknown>0.1%", "send_window": "21:30-24:00 America/Argentina/Buenos_Aires",
        ]),
        EntryBuilder.fields([
            "fids": #"["a"]"#, "canary": "99.9%",
        ]),
        EntryBuilder.fields([
            "topic": "news", "send_window": "22:00-06:00 Etc/GMT+1",
        ]),
        EntryBuilder.fields([
            "recipients": #"[ {"token":"a","vars":{"n":"Ana","x":1.5,"y":true},"variant":"es-MX"} , {"fid":"f"} ]"#,
            "message": formats, "variants": #"{"es":{"notification":null}}"#,
        ]),
        EntryBuilder.fields([
            "audience": "users:{demo}", "audience_format": "json", "variants": "{}",
            "message": #"{"notification":{"color":"{{c}}"}}"#, "format": "legacy",
        ]),
        EntryBuilder.fields([
            "audience": "users:{demo}", "audience_format": "token", "stop_if": "unregistered>20.0%",
        ]),
    ]

    @Test func completeFieldsAreAccepted() {
        for fields in Self.accepted {
            let decision = EntryBuilder.validator().decide(entryID: EntryBuilder.entryID, fields: fields)
            guard case .accept = decision else {
                Issue.record("\(fields.map(\.name)): \(decision)")
                continue
            }
        }
    }
}
