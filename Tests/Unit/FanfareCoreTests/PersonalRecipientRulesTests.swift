import FCMWire
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

@testable import FanfareCore

@Suite struct PersonalRecipientRulesTests {
    static func rules(_ message: String, _ variants: String? = nil, _ format: MessageFormat = .v1) throws
        -> PersonalRecipientRules
    {
        let transport: Transport = format == .v1 ? .v1 : .legacy
        let messages = try ValidationPersonalTests.check(message, variants, format, over: transport)
        let options = MessageOptions(format: format, validateOnly: false, delivery: .atLeastOnce, jobID: "j")
        let template = try PersonalTemplate(messages.messages, options, transport: transport, legacyBody: .json)
        return PersonalRecipientRules(template, messages.sizes)
    }

    static func element(_ text: String) throws -> RecipientElement {
        let bytes = Array(text.utf8)
        return try RecipientElement(bytes.indices, of: bytes)
    }

    /// The rest of the result's fields are the same for each.
    static func rawError(_ rules: PersonalRecipientRules, _ recipient: String) throws -> String? {
        guard let failure = rules.fault(of: try element(recipient)).map({ Failure($0) }) else { return nil }
        #expect(failure == Failure(error: .invalidArgument, action: .fixMessage, rawError: failure.rawError))
        return failure.rawError
    }

    static let recipients: [(String, String?)] = [
        (#"{"token":"T","vars":{"name":"Ana"}}"#, nil),
        (#"{"token":"T","vars":{"name":""}}"#, nil),
        (#"{"token":"T"}"#, "vars.name: missing"),
        (#"{"token":"T","variant":"es-MX"}"#, "vars.nombre: missing"),
        (#"{"token":"T","variant":"de","vars":{"nombre":"x"}}"#, "vars.name: missing"),
        (#"{"token":"T","vars":{"name":[]}}"#, "vars.name: must be a string, a number or a boolean, not an array"),
        (#"{"token":"T","vars":{"name":"x","name":"y"}}"#, "vars.name: given more than once"),
    ]

    @Test(arguments: recipients)
    func recipientWithoutItsValuesFailsByName(recipient: String, rawError: String?) throws {
        let rules = try Self.rules(#"{"data":{"k":"{{name}}"}}"#, #"{"es":{"data":{"k":"{{nombre}}"}}}"#)
        #expect(try Self.rawError(rules, recipient) == rawError)
    }

    @Test func messageAboveTheLimitFailsItsRecipientOnly() throws {
        let rest = String(repeating: "v", count: 4_090)
        let rules = try Self.rules(
            #"{"data":{"k":"{{a}}\#(rest)"}}"#,
            #"{"es":{"notification":{"title":"{{a|12345}}"},"data":{"k":"\#(rest)"}}}"#
        )
        for (vars, rawError) in [
            (#"{"a":"12345"}"#, nil), (#"{"a":"123456"}"#, "message: 4097 bytes, at most 4096"),
            (#"{"a":"ééé"}"#, "message: 4097 bytes, at most 4096"), (#"{"a":"\n\n\n\n\n"}"#, nil),
            (#"{"a":123456}"#, "message: 4097 bytes, at most 4096"),
        ] as [(String, String?)] {
            #expect(try Self.rawError(rules, #"{"token":"T","vars":\#(vars)}"#) == rawError, "\(vars)")
        }
        // `title` and a fallback of 5 bytes.
        #expect(
            try Self.rawError(rules, #"{"token":"T","variant":"es"}"#) == "message: 4101 bytes, at most 4096"
        )
        #expect(
            try Self.rawError(rules, #"{"token":"T","variant":"es","vars":{"a":""}}"#) == nil
        )
    }

    @Test func malformedElementIsAFailure() {
        #expect(throws: TemplateFault.self) { try Self.element("{") }
        #expect(
            Failure(TemplateFault("", "needs a token or a fid"))
                == Failure(error: .invalidArgument, action: .fixMessage, rawError: "needs a token or a fid")
        )
        let long = Failure(TemplateFault(String(repeating: "x", count: 300), "\n"))
        #expect(long.rawError.utf8.count == 200)
    }

    /// The size that intake computes for the filled message is the one that the values give.
    @Test(arguments: [MessageFormat.v1, .legacy])
    func sizeEqualsThatOfTheFilledMessage(format: MessageFormat) throws {
        var random = SeededGenerator(seed: 21)
        let check = EntryCheck(
            ProtocolSettings(transport: format == .v1 ? .v1 : .legacy),
            hasSenderID: false,
            project: "p",
            prefix: "fanfare"
        )
        var (fitting, large) = (0, 0)
        for _ in 0..<400 {
            let template = Self.message(format, &random)
            let messages = try ValidationPersonalTests.check(template, nil, format, over: format == .v1 ? .v1 : .legacy)
            var values: [String: JSONValue] = [:]
            for name in ["a", "b"] where Int.random(in: 0..<5, using: &random) > 0 {
                values[name] = .string(Self.value(&random))
            }
            let vars = JSONValue.object(JSONObject(values.map { .init(key: $0.key, value: $0.value) })).jsonText
            let recipient = try Self.element(#"{"token":"T","vars":\#(vars)}"#)
            #expect(recipient.fault == nil)
            let size = messages.sizes.base.largest(of: recipient.variables)
            let filled = Self.filled(.object(messages.messages.base), values)
            do throws(EntryFault) {
                let fields = [("token", "T"), ("format", format.rawValue), ("message", filled.jsonText)]
                let outline = try check.check(fields.map { (name: $0.0, value: Array($0.1.utf8)) })
                #expect(outline.messageBytes == size)
                fitting += 1
            } catch {
                #expect(size > 4_096, "\(error.reason)")
                #expect(error.rule.contains("at most 4096"), "\(error.reason)")
                large += 1
            }
        }
        #expect(fitting > 100 && large > 40, "\(fitting) \(large)")
    }

    private static func value(_ random: inout SeededGenerator) -> String {
        let pieces = ["x", "é", "\"", "\\", "\n", "😀", "{{a}}"]
        let piece = pieces.randomElement(using: &random) ?? "x"
        return String(repeating: piece, count: Int.random(in: 0...1_024 / piece.utf8.count, using: &random))
    }

    private static func message(_ format: MessageFormat, _ random: inout SeededGenerator) -> String {
        func text() -> JSONValue {
            let pieces = ["{{a|é\"}}", "{{b|}}", "{{{{", "x", "\"\n"]
            let count = Int.random(in: 0...3, using: &random)
            return .string((0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined())
        }
        func isChosen() -> Bool { Bool.random(using: &random) }
        let filler = JSONValue.string(String(repeating: "v", count: Int.random(in: 0...3_900, using: &random)))
        var message: JSONObject = [
            "data": ["k": text(), "f": filler], "notification": ["title": text(), "body": text()],
        ]
        if format == .legacy {
            message["data"] = ["k": text(), "f": filler, "o": ["x\"": [text(), 1, .null]]]
            return JSONValue.object(message).jsonText
        }
        if isChosen() {
            message["android"] = ["notification": ["title": text(), "color": "#00ff7f"], "data": ["k": text()]]
        }
        if isChosen() {
            let aps: JSONValue = isChosen() ? ["alert": text()] : ["sound": "x"]
            message["apns"] = ["payload": ["aps": aps, "own": [text(), true]]]
        }
        if isChosen() { message["webpush"] = ["notification": ["body": text()], "fcm_options": ["link": "https://x"]] }
        return JSONValue.object(message).jsonText
    }

    private static func filled(_ value: JSONValue, _ values: [String: JSONValue]) -> JSONValue {
        switch value {
        case .string(let text):
            let parts = try? PlaceholderText(text)
            return .string(parts?.filled { values[$0.text]?.string ?? $1 ?? "" } ?? text)
        case .array(let elements): return .array(elements.map { filled($0, values) })
        case .object(let object):
            return .object(JSONObject(object.members.map { .init(key: $0.key, value: filled($0.value, values)) }))
        default: return value
        }
    }
}
