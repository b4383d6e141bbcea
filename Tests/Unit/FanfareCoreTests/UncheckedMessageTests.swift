import FanfareCore
import FanfareModel
import Testing

/// Who has seen a message before says so; see `IntakeValidator.decide`.
@Suite struct UncheckedMessageTests {
    private static let broken = #"{"unknown":1}"#

    private func decide(_ given: KeyValuePairs<String, String?>) -> (decision: IntakeDecision, asked: [Job]) {
        var asked: [Job] = []
        let decision = EntryBuilder.validator().decide(
            entryID: EntryBuilder.entryID,
            fields: EntryBuilder.fields(given)
        ) {
            asked.append($0)
            return true
        }
        return (decision, asked)
    }

    @Test func knownMessageIsNotCheckedAgain() {
        let (decision, asked) = decide(["message": Self.broken, "format": "legacy"])
        guard case .accept(let job) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(asked == [job])
        #expect(job.message == Array(Self.broken.utf8) && job.format == .legacy)
    }

    @Test func unknownMessageIsChecked() {
        let validator = EntryBuilder.validator()
        let fields = EntryBuilder.fields(["message": Self.broken])
        let decision = validator.decide(entryID: EntryBuilder.entryID, fields: fields) { _ in false }
        #expect(decision == .reject(jobID: EntryBuilder.entryID, reason: "message.unknown: unknown field"))
    }

    /// Whatever is known of the message, every other rule holds, and is looked at first.
    @Test(arguments: [
        ("token", "a b"), ("priority", "10"), ("id", ""), ("delivery", "twice"), ("validate_only", "2"),
        ("expires_at", "0"), ("format", "v2"), ("traceparent", "x"), ("nonsense", "1"),
    ])
    func everyOtherFieldIsStillChecked(_ name: String, _ value: String) {
        let (decision, asked) = decide([name: value])
        guard case .reject(_, let reason) = decision else {
            Issue.record("accepted")
            return
        }
        #expect(reason.hasPrefix(name) && asked.isEmpty)
    }

    @Test func operationWithoutAMessageIsNotLookedUp() {
        let (decision, asked) = decide(["op": "subscribe", "topic": "t", "tokens": #"["a"]"#])
        guard case .accept = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(asked.isEmpty)
    }
}
