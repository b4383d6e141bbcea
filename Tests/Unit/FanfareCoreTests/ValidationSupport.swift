import FanfareCore
import FanfareModel
import Testing

/// An entry as a table row writes it. A row without `message` gets an empty one, a row without a target a token:
/// what the row is about stands alone. `nil` takes such a field out again. Rows of other operations than `send` are whole.
struct EntryBuilder {
    static let entryID = "1700000000000-0"

    static func fields(_ given: KeyValuePairs<String, String?>) -> [(name: String, value: [UInt8])] {
        let targets: Set<String> = [
            "token", "tokens", "fid", "fids", "topic", "condition", "group", "audience", "recipients",
        ]
        var fields: [(name: String, value: [UInt8])] = []
        let isSend = given.allSatisfy { $0.key != "op" || $0.value == "send" }
        if isSend, !given.contains(where: { targets.contains($0.key) }) { fields.append(("token", Array("a:b".utf8))) }
        if isSend, !given.contains(where: { $0.key == "message" }) { fields.append(("message", Array("{}".utf8))) }
        for (name, value) in given {
            if let value { fields.append((name, Array(value.utf8))) }
        }
        return fields
    }

    static func validator(
        _ transport: Transport = .v1,
        as body: LegacyBody = .json,
        hasSenderID: Bool = true
    ) -> IntakeValidator {
        IntakeValidator(
            transport.traits(body: body),
            hasSenderID: hasSenderID,
            projectKeyTag: "{demo}",
            prefix: "fanfare"
        )
    }

    static func decide(
        _ given: KeyValuePairs<String, String?>,
        over transport: Transport = .v1,
        as body: LegacyBody = .json
    ) -> IntakeDecision {
        validator(transport, as: body).decide(entryID: entryID, fields: fields(given))
    }

    /// nil for an accepted entry.
    static func reason(
        _ given: KeyValuePairs<String, String?>,
        over transport: Transport = .v1,
        as body: LegacyBody = .json
    ) -> String? {
        if case .reject(_, let reason) = decide(given, over: transport, as: body) { return reason }
        return nil
    }

    static func job(
        _ given: KeyValuePairs<String, String?>,
        over transport: Transport = .v1,
        as body: LegacyBody = .json
    ) -> Job? {
        if case .accept(let job) = decide(given, over: transport, as: body) { return job }
        return nil
    }
}

/// One row of a table of malformed jobs.
struct BadEntry: Sendable, CustomTestStringConvertible {
    let fields: [(name: String, value: [UInt8])]
    let transport: Transport
    let body: LegacyBody
    let reason: String

    init(
        _ fields: KeyValuePairs<String, String?>,
        over transport: Transport = .v1,
        as body: LegacyBody = .json,
        _ reason: String
    ) {
        self.fields = EntryBuilder.fields(fields)
        self.body = body
        self.transport = transport
        self.reason = reason
    }

    /// A row about the message alone.
    init(
        message: String,
        format: String = "v1",
        over transport: Transport = .v1,
        as body: LegacyBody = .json,
        _ reason: String
    ) {
        self.init(["message": message, "format": format], over: transport, as: body, reason)
    }

    var decision: IntakeDecision {
        EntryBuilder.validator(transport, as: body).decide(entryID: EntryBuilder.entryID, fields: fields)
    }

    var testDescription: String { reason }
}
