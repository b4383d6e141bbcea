import FanfareCore
import FanfareModel
import Testing

/// What one transport has and another has not.
@Suite struct ValidationTransportTests {
    private static let notText = "has no counterpart in plain text"

    static let options: [BadEntry] = [
        BadEntry(
            message: #"{"restricted_package_name":"p"}"#,
            format: "legacy",
            over: .xmpp,
            "message.restricted_package_name: has no counterpart over XMPP"
        ),
        BadEntry(
            message: #"{"message_id":"m"}"#,
            format: "legacy",
            over: .xmpp,
            "message.message_id: chosen by the worker"
        ),
        BadEntry(
            message: #"{"delivery_receipt_requested":1}"#,
            format: "legacy",
            over: .xmpp,
            "message.delivery_receipt_requested: must be true or false, not a number"
        ),
        BadEntry(
            message: #"{"delivery_receipt_requested":true}"#,
            format: "legacy",
            over: .legacy,
            as: .text,
            "message.delivery_receipt_requested: only with the xmpp transport, this project's is legacy"
        ),
        BadEntry(
            message: #"{"data":{"gcm.x":"1"}}"#,
            format: "legacy",
            over: .legacy,
            as: .text,
            "message.data.gcm.x: reserved key"
        ),
        BadEntry(
            message: #"{"time_to_live":2419201}"#,
            format: "legacy",
            over: .legacy,
            as: .text,
            "message.time_to_live: 2419201 is not 0 to 2419200"
        ),
    ]

    static let texts: [BadEntry] =
        [
            ("notification", #"{"title":"t"}"#), ("priority", #""high""#), ("content_available", "true"),
            ("mutable_content", "false"), ("delay_while_idle", "true"),
        ].map { name, value in
            BadEntry(
                message: "{\"\(name)\":\(value)}",
                format: "legacy",
                over: .legacy,
                as: .text,
                "message.\(name): \(notText)"
            )
        } + [
            BadEntry(["topic": "news"], over: .legacy, as: .text, "topic: \(notText)"),
            BadEntry(["condition": "'a' in topics"], over: .legacy, as: .text, "condition: \(notText)"),
            BadEntry(["group": "APA91bG"], over: .legacy, as: .text, "group: \(notText)"),
            BadEntry(
                ["fid": "f"],
                over: .legacy,
                as: .text,
                "fid: only with the v1 transport, this project's is legacy"
            ),
        ]

    static let conditions: [BadEntry] = [.legacy, .xmpp].map { transport in
        BadEntry(
            ["condition": "'a' in topics && 'b' in topics && 'c' in topics || 'd' in topics"],
            over: transport,
            "condition: 3 operators, at most 2"
        )
    }

    @Test(arguments: options + texts + conditions) func memberWithoutCounterpartIsRejectedByName(_ row: BadEntry) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    /// Another operation would carry the project's key to a service that has no topics and groups.
    @Test func transportWithoutManagementTakesSendsOnly() {
        var traits = TransportTraits.v1
        traits.hasManagement = false
        let validator = IntakeValidator(traits, hasSenderID: true, projectKeyTag: "{demo}", prefix: "fanfare")
        for operation in Operation.allCases {
            let fields = EntryBuilder.fields(["op": operation.rawValue])
            let decision = validator.decide(entryID: "1-1", fields: fields)
            let refusal = IntakeDecision.reject(jobID: "1-1", reason: "op: has no counterpart over v1")
            #expect((decision == refusal) == (operation != .send), "\(operation): \(decision)")
        }
    }

    @Test func plainTextAllowsFourOptionsAndData() {
        let message =
            #"{"collapse_key":"k","time_to_live":0,"restricted_package_name":"p","dry_run":true,"data":{"a":1}}"#
        let fields: KeyValuePairs<String, String?> = [
            "message": message, "format": "legacy", "tokens": #"["a","b"]"#,
        ]
        #expect(EntryBuilder.reason(fields, over: .legacy, as: .text) == nil)
        #expect(EntryBuilder.job(fields, over: .legacy, as: .text)?.target == .tokens(["a", "b"]))
        #expect(EntryBuilder.reason(["audience": "u{demo}"], over: .legacy, as: .text) == nil)
        // The body of another transport says nothing.
        #expect(EntryBuilder.reason(["topic": "t"], over: .v1, as: .text) == nil)
        #expect(EntryBuilder.reason(["topic": "t"], over: .xmpp, as: .text) == nil)
    }

    @Test func xmppAllowsEveryOtherLegacyFieldAndReceipts() {
        let message = ValidationAcceptanceTests.everyLegacyField
            .replacing(#""restricted_package_name": "p""#, with: #""delivery_receipt_requested": true"#)
        for target in ["token", "topic", "group"] {
            let fields: KeyValuePairs<String, String?> = ["message": message, "format": "legacy", target: "a"]
            #expect(EntryBuilder.reason(fields, over: .xmpp) == nil)
        }
        let condition = "'a' in topics && 'b' in topics || 'c' in topics"
        #expect(EntryBuilder.reason(["condition": condition], over: .xmpp) == nil)
    }
}
