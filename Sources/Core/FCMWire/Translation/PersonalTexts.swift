internal import FanfareJSON
internal import FanfareModel
internal import FanfareTemplate

/// Prepares a personal message for its translation, which then treats placeholders as any other text.
///
/// Translating a message with placeholders gives what translating each filled message would give. Two kinds of texts need
/// preparation, because translation reads them or writes them as JSON:
///
/// - Members of legacy `data` that are not strings, and the arguments of localized texts, travel as JSON text within a
///   string. Their placeholders are marked, so that a value is escaped for that text as well.
/// - The scheme of an icon's or a link's address decides where translation puts it. It must stand before the first
///   placeholder.
///
/// The other rules of translation that read a text refuse a placeholder by themselves, such as the one for a badge.
enum PersonalTexts {
    /// The message with its placeholders marked where needed.
    ///
    /// - Throws: for a text that a recipient's values could send to another place, or break.
    static func prepared(
        _ message: JSONObject,
        format: MessageFormat,
        transport: Transport
    ) throws(TranslationError) -> JSONObject {
        if format == .legacy { return try legacy(message, isTranslated: transport == .v1) }
        return transport == .v1 ? message : try v1(message)
    }

    /// A v1 message that becomes a legacy body.
    private static func v1(_ message: JSONObject) throws(TranslationError) -> JSONObject {
        var result = message
        for place in TranslationTable.rows.flatMap(\.places) {
            guard let value = message.value(at: place.path) else { continue }
            if place.form == .arguments { result.set(place.path, to: EmbeddedPlaceholders.marked(value)) }
            // A legacy body has one field for each text: only this form reads it.
            if place.form == .imageURL { try requireScheme(value, place.form, at: place.path) }
        }
        return result
    }

    /// - Parameter isTranslated: whether the message becomes a v1 message; otherwise it stays a legacy body.
    private static func legacy(_ message: JSONObject, isTranslated: Bool) throws(TranslationError) -> JSONObject {
        var result = message
        if let data = message["data"]?.object {
            let members = data.members.map { member in
                guard member.value.string == nil else { return member }
                return JSONObject.Member(key: member.key, value: EmbeddedPlaceholders.marked(member.value))
            }
            result["data"] = .object(JSONObject(members))
        }
        for row in TranslationTable.rows {
            guard let value = message.value(at: row.legacy) else { continue }
            for place in row.places where isTranslated { try requireScheme(value, place.form, at: row.legacy) }
            guard row.places.contains(where: { $0.form == .arguments }), let text = value.string else { continue }
            try checkArguments(text, at: row.legacy)
            // A translated text is parsed, and its strings are written as they are.
            if !isTranslated { result.set(row.legacy, to: EmbeddedPlaceholders.marked(value)) }
        }
        return result
    }

    /// Refuses a text whose address has a scheme only for some values.
    private static func requireScheme(
        _ value: JSONValue,
        _ form: ValueForm,
        at path: [String]
    ) throws(TranslationError) {
        guard let text = value.string, PlaceholderText.hasBraces(text),
            let parts = (try? PlaceholderText(text))?.parts
        else { return }
        var beginning = ""
        for part in parts {
            guard case .literal(let literal) = part else {
                let isOpen = form.decidingSchemes.contains { scheme in
                    let begun = Array(beginning.lowercased().utf8)
                    return begun.count < scheme.utf8.count && scheme.utf8.starts(with: begun)
                }
                guard isOpen else { return }
                throw TranslationError(path, "whether this is an address must be clear before the first placeholder")
            }
            beginning += literal
        }
    }

    /// Refuses a JSON text in which a placeholder would change the strings around it once the text is parsed.
    private static func checkArguments(_ text: String, at path: [String]) throws(TranslationError) {
        let strings = try ValueForm.arguments.fromLegacy(.string(text), at: path)?.array ?? []
        let one = JSONValue.array(strings.compactMap { $0.string.flatMap(filled).map(JSONValue.string) })
        let other = filled(text).flatMap { try? ValueForm.arguments.fromLegacy(.string($0), at: path) }
        guard one.jsonBytes == other?.jsonBytes else {
            throw TranslationError(path, "a placeholder must stand within one string, its braces without escapes")
        }
    }

    /// The text of a recipient without values; nil for a malformed one.
    private static func filled(_ text: String) -> String? {
        (try? PlaceholderText(text))?.filled { $1 ?? "" }
    }
}
