public import FanfareModel

/// How values are written into the text of a ``SplicedTemplate``.
///
/// The functions are static and the template is generic over the type, so that an encoding costs no call by reference.
public protocol SpliceEncoding: Sendable {
    /// The spelling of placeholders in the encoded text.
    static var marks: PlaceholderMarks { get }
    /// The exact number of bytes that `put` appends for the value.
    ///
    /// - Parameter isEmbedded: whether the place is within JSON text that is itself a string.
    static func count(of value: TemplateValue, isEmbedded: Bool) -> Int
    /// Appends the value in this encoding.
    static func put(_ value: TemplateValue, isEmbedded: Bool, to span: inout OutputSpan<UInt8>)
}

/// Values within the strings of JSON, copied as they are.
public enum JSONSplicing: SpliceEncoding {
    public static var marks: PlaceholderMarks { .plain }

    @inlinable
    public static func count(of value: TemplateValue, isEmbedded: Bool) -> Int {
        isEmbedded ? value.embeddedCount : value.escaped.count
    }

    @inlinable
    public static func put(_ value: TemplateValue, isEmbedded: Bool, to span: inout OutputSpan<UInt8>) {
        guard isEmbedded else { return span.put(value.escaped) }
        for byte in value.escaped.bytes {
            if TemplateValue.isEscaped(byte) { span.append(UInt8(ascii: "\\")) }
            span.append(byte)
        }
    }
}

/// Values within `application/x-www-form-urlencoded`: every byte but `A-Z a-z 0-9 - . _ ~` becomes `%XX`.
public enum FormSplicing: SpliceEncoding {
    public static var marks: PlaceholderMarks { .form }

    public static func count(of value: TemplateValue, isEmbedded: Bool) -> Int {
        isEmbedded ? count(of: value.escaped.bytes) : count(of: value.unescaped)
    }

    public static func put(_ value: TemplateValue, isEmbedded: Bool, to span: inout OutputSpan<UInt8>) {
        if isEmbedded { put(value.escaped.bytes, to: &span) } else { put(value.unescaped, to: &span) }
    }

    private static func count(of bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) { $0 + (isUnreserved($1) ? 1 : 3) }
    }

    private static func put(_ bytes: some Sequence<UInt8>, to span: inout OutputSpan<UInt8>) {
        for byte in bytes {
            if isUnreserved(byte) {
                span.append(byte)
            } else {
                span.append(UInt8(ascii: "%"))
                span.append(digit(byte >> 4))
                span.append(digit(byte & 15))
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: byte.isASCIIAlphanumeric
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}
