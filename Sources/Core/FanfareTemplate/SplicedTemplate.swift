public import FanfareModel

/// The encoded text of a personal message, compiled once for each job and variant. Rendering copies bytes only.
///
/// The text is what follows the target in a request, already encoded: compact JSON, or a form. Placeholders still stand in
/// it literally. They are found without reading JSON, for two reasons:
///
/// - In compact JSON `{{` occurs within strings only. Outside them a `{` is followed by a quote or by `}`, because an
///   object begins with a name or is empty.
/// - JSON as `FanfareJSON` writes it escapes none of `{`, `|`, `}` and `:`, nor a character of a name; XML escapes none
///   of them either. Form encoding writes each byte as `%XX` or as itself, so that the marks there are as unambiguous.
public struct SplicedTemplate<Encoding: SpliceEncoding>: Sendable {
    /// Literals and fallbacks in the order of the text; each `{{{{` is written as `{{`.
    @usableFromInline let bytes: [UInt8]
    @usableFromInline let slots: [SpliceSlot]

    /// - Parameter text: of a message whose placeholders ``PlaceholderPaths`` has checked.
    /// - Throws: for a malformed placeholder, which such a message does not have. Offsets are bytes of the encoded text.
    public init(_ text: [UInt8]) throws(PlaceholderError) {
        var scanner = PlaceholderScanner(text, marks: Encoding.marks)
        var (bytes, slots) = ([UInt8](), [SpliceSlot]())
        bytes.reserveCapacity(text.count)
        while let part = try scanner.part() {
            switch part {
            case .literal(let range): bytes += text[range]
            case .slot(let slot):
                let literalEnd = bytes.count
                bytes += slot.fallback ?? []
                slots.append(
                    SpliceSlot(
                        name: slot.name,
                        literalEnd: literalEnd,
                        fallbackEnd: bytes.count,
                        isRequired: slot.fallback == nil,
                        isEmbedded: slot.isEmbedded
                    )
                )
            }
        }
        (self.bytes, self.slots) = (bytes, slots)
    }

    /// The exact number of bytes that ``render(_:into:)`` appends.
    ///
    /// - Throws: `vars.name: missing` for the first placeholder that has neither a value nor a fallback.
    @inlinable
    public func count(of variables: [TemplateVariable]) throws(TemplateFault) -> Int {
        var count = bytes.count
        for slot in slots {
            if let value = variables.value(of: slot.name) {
                count += Encoding.count(of: value, isEmbedded: slot.isEmbedded) - (slot.fallbackEnd - slot.literalEnd)
            } else if slot.isRequired {
                throw slot.missing
            }
        }
        return count
    }

    /// Appends the text for one recipient. Room is reserved once, and nothing is allocated for a placeholder.
    ///
    /// - Parameters:
    ///   - variables: names that the text does not have are ignored.
    ///   - body: stays as it is when an error is thrown.
    /// - Throws: `vars.name: missing` for the first placeholder that has neither a value nor a fallback.
    @inlinable
    public func render(_ variables: [TemplateVariable], into body: inout [UInt8]) throws(TemplateFault) {
        let count = try count(of: variables)
        body.append(addingCapacity: count) { span in
            var start = 0
            for slot in slots {
                span.put(bytes[start..<slot.literalEnd])
                if let value = variables.value(of: slot.name) {
                    Encoding.put(value, isEmbedded: slot.isEmbedded, to: &span)
                } else {
                    span.put(bytes[slot.literalEnd..<slot.fallbackEnd])
                }
                start = slot.fallbackEnd
            }
            span.put(bytes[start...])
        }
    }
}

/// One placeholder of a ``SplicedTemplate``. The literal before it begins where the fallback of the previous one ends.
@usableFromInline
struct SpliceSlot: Sendable {
    @usableFromInline let name: PlaceholderName
    /// The end of the literal before it and the start of its fallback, in the template's bytes.
    @usableFromInline let literalEnd: Int
    @usableFromInline let fallbackEnd: Int
    /// True without a fallback.
    @usableFromInline let isRequired: Bool
    /// True within JSON text that is itself a string.
    @usableFromInline let isEmbedded: Bool

    init(name: PlaceholderName, literalEnd: Int, fallbackEnd: Int, isRequired: Bool, isEmbedded: Bool) {
        (self.name, self.literalEnd, self.fallbackEnd) = (name, literalEnd, fallbackEnd)
        (self.isRequired, self.isEmbedded) = (isRequired, isEmbedded)
    }

    @usableFromInline var missing: TemplateFault { TemplateFault("vars.\(name)", "missing") }
}
