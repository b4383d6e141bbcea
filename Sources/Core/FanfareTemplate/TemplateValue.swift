internal import FanfareJSON
public import FanfareModel

/// A recipient's value for one placeholder, stored as the bytes that are spliced into JSON.
///
/// A string is escaped as `FanfareJSON` writes it: quote, backslash and control characters only. A number or a boolean is
/// its literal.
public struct TemplateValue: Equatable, Sendable {
    /// Bytes of a string, unescaped, at most.
    public static let maximumLength = 1_024

    /// The content of a JSON string, without the quotes around it.
    public let escaped: SharedText
    /// UTF-8 bytes of the value without escapes: what FCM counts.
    public let count: Int

    /// - Parameter text: the value without escapes.
    public init(_ text: String) {
        var bytes: [UInt8] = []
        bytes.appendJSONString(text)
        escaped = SharedText(1..<bytes.count - 1, of: bytes)
        count = text.utf8.count
    }

    /// - Parameter plain: UTF-8 without a character that JSON escapes.
    init(plain: SharedText) {
        escaped = plain
        count = plain.count
    }

    /// Bytes of the value if it were escaped twice: as JSON text within a JSON string.
    @inlinable public var embeddedCount: Int {
        escaped.count == count ? count : escaped.bytes.reduce(escaped.count) { $0 + (Self.isEscaped($1) ? 1 : 0) }
    }

    /// The value's UTF-8 without escapes.
    @inlinable public var unescaped: UnescapedBytes { UnescapedBytes(escaped.bytes) }

    /// Whether JSON escapes the byte, one of the bytes that occur in ``escaped``.
    @inlinable
    static func isEscaped(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }
}

/// The bytes of a ``TemplateValue`` without escapes, decoded one after the other.
public struct UnescapedBytes: Sequence, IteratorProtocol {
    @usableFromInline var rest: ArraySlice<UInt8>

    /// - Parameter escaped: with the escapes that `FanfareJSON` writes, and no others.
    @inlinable init(_ escaped: ArraySlice<UInt8>) { rest = escaped }

    @inlinable
    public mutating func next() -> UInt8? {
        guard let byte = rest.popFirst() else { return nil }
        guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else { return byte }
        switch letter {
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"):
            // Four digits, of which the first two are zeros.
            var code: UInt8 = 0
            for _ in 0..<4 { code = code << 4 | (rest.popFirst().flatMap(Self.digit) ?? 0) }
            return code
        default: return letter
        }
    }

    @inlinable
    static func digit(_ byte: UInt8) -> UInt8? { byte.isASCIIDigit ? byte - 0x30 : byte - 0x57 }
}

/// A name of `vars` with its value.
public struct TemplateVariable: Equatable, Sendable {
    public let name: PlaceholderName
    public let value: TemplateValue

    public init(_ name: PlaceholderName, _ value: TemplateValue) {
        self.name = name
        self.value = value
    }
}

extension [TemplateVariable] {
    /// The value of this name; nil when the recipient has none.
    @inlinable
    func value(of name: PlaceholderName) -> TemplateValue? {
        for variable in self where variable.name == name { return variable.value }
        return nil
    }
}
