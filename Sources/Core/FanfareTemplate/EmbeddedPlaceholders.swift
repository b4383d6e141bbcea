public import FanfareJSON

/// Marks the placeholders of a value that will travel as JSON text within a string.
///
/// Legacy messages write such strings: members of `data` that are not strings, and the arguments of localized texts. A
/// recipient's value must be escaped once more there. In the marked value each placeholder is spelled `{{:name}}`, which
/// ``SplicedTemplate`` understands and which no producer's text can contain.
public enum EmbeddedPlaceholders {
    /// The value with its placeholders marked, to be written as JSON text. Names of members stay.
    ///
    /// - Parameter value: part of a message that ``PlaceholderPaths`` has checked. A malformed text stays as it is.
    public static func marked(_ value: JSONValue) -> JSONValue { value.mapPlaceholderTexts(marked) }

    private static func marked(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var scanner = PlaceholderScanner(bytes, marks: .source)
        // A literal `{{` must stay doubled, so that the text is copied around the slots.
        var (result, copied) = ([UInt8](), 0)
        do throws(PlaceholderError) {
            while let part = try scanner.part() {
                guard case .slot(let slot) = part else { continue }
                let name = slot.range.lowerBound + 2
                result += bytes[copied..<name] + [UInt8(ascii: ":")]
                copied = name
            }
        } catch { return text }
        return String(decoding: result + bytes[copied...], as: UTF8.self)
    }
}
