import FCMWire
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

/// Seeded messages and values. A request of ``PersonalTemplate`` equals the request that the templates of ordinary jobs
/// write for the message in which placeholders were replaced before any translation, byte for byte.
@Suite struct PersonalTemplateFuzzTests {
    @Test(arguments: Wire.all, [MessageFormat.v1, .legacy])
    func requestEqualsThatOfTheFilledMessage(wire: Wire, format: MessageFormat) throws {
        var generator = PersonalMessageGenerator(seed: 20 + UInt64(format == .v1 ? 1 : 0))
        var (rendered, refused, missing) = (0, 0, 0)
        for _ in 0..<400 {
            let isText = wire.body == .text
            let message =
                format == .v1
                ? generator.v1(isTranslatable: wire.transport != .v1, asText: isText)
                : generator.legacy(wire.transport, asText: isText)
            let delivery = generator.pick([DeliveryMode.atLeastOnce, .atMostOnce, .replace])
            let options = MessageOptions.job(format, validateOnly: generator.chance(3), delivery: delivery)
            try PlaceholderPaths.check(message, at: "message")
            let template: PersonalTemplate
            do throws(TranslationError) {
                let messages = VariantTable<JSONObject>(base: message, variants: [])
                template = try PersonalTemplate(
                    messages,
                    options,
                    transport: wire.transport,
                    legacyBody: wire.body
                )
            } catch {
                #expect(Self.isExpected(error), "\(error) \(JSONValue.object(message).jsonText)")
                refused += 1
                continue
            }
            for _ in 0..<2 {
                let values = generator.recipientValues()
                let recipient = try RecipientElement.of(values)
                let filled = FilledMessage(message, values, format)
                let expected = try wire.ordinary(filled.message, options, nowMs: 1_000_999)
                if filled.isMissing {
                    // A text that the transport does not carry needs no value.
                    let other = FilledMessage(message, values, format, missing: "?")
                    if try wire.ordinary(other.message, options, nowMs: 1_000_999) != expected {
                        missing += 1
                        #expect(throws: TemplateFault.self) { try template.rendered(recipient) }
                        #expect(throws: TemplateFault.self) { try template.check(recipient) }
                        continue
                    }
                }
                // A tag without text is the message's own here: see the test of its name.
                if delivery == .replace, Self.tag(of: filled.message)?.isEmpty == true { continue }
                rendered += 1
                try template.check(recipient)
                let bytes = try template.rendered(recipient)
                let comment = "\(JSONValue.object(message).jsonText) \(values)"
                // Bytes: Swift takes `é` and `e` with an accent for equal.
                let isEqual = bytes == expected
                let (one, other) = (String(decoding: bytes, as: UTF8.self), String(decoding: expected, as: UTF8.self))
                #expect(isEqual, "\(one) is not \(other) of \(comment)")
                let source = try SourceMessage(filled.message, options)
                #expect(template.lifetime(for: nil) == source.lifetime)
            }
        }
        #expect(rendered > 250 && missing > 20 && refused < 200, "\(rendered) \(missing) \(refused)")
    }

    /// Texts of different placeholders that legacy has only one field for, and addresses without a scheme.
    private static func isExpected(_ error: TranslationError) -> Bool {
        [
            "legacy has one value for all platforms", "legacy cannot show a text on one platform only",
            "must be clear before the first placeholder", "must be an https address",
        ].contains { error.reason.hasSuffix($0) }
    }

    private static func tag(of message: JSONObject) -> String? {
        let android = message["android"]?.object?["notification"]?.object
        return (message["notification"]?.object?["tag"] ?? android?["tag"])?.string
    }
}
