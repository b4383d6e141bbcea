/// Compact JSON, appended to bytes that are being built for the wire.
extension [UInt8] {
    /// A string in double quotes. Only what RFC 8259 demands is escaped; everything else stays UTF-8.
    public mutating func appendJSONString(_ text: String) {
        append(UInt8(ascii: "\""))
        // Tokens and most texts need no escape, and are copied as they are.
        if text.isPlainJSON {
            append(contentsOf: text.utf8)
        } else {
            appendEscaped(text)
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0x20...: append(byte)
            case 0x0A: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0x0D: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "r")])
            case 0x09: append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
            default:
                append(contentsOf: Array("\\u00".utf8))
                let digits = Array("0123456789abcdef".utf8)
                append(digits[Int(byte >> 4)])
                append(digits[Int(byte & 15)])
            }
        }
    }

    /// Members and elements in their order, numbers as they were written, no white space.
    public mutating func appendJSON(_ value: JSONValue) {
        switch value {
        case .null: append(contentsOf: "null".utf8)
        case .bool(let flag): append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let number): append(contentsOf: number.text.utf8)
        case .string(let text): appendJSONString(text)
        case .array(let elements):
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                appendJSON(element)
            }
            append(UInt8(ascii: "]"))
        case .object(let object):
            append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                appendJSONString(member.key)
                append(UInt8(ascii: ":"))
                appendJSON(member.value)
            }
            append(UInt8(ascii: "}"))
        }
    }
}

extension String {
    /// Whether no character has to be escaped.
    public var isPlainJSON: Bool { WideBytes.none(of: self, escaped) }
}

extension ArraySlice<UInt8> {
    /// Whether the bytes are ASCII and none has to be escaped.
    public var isPlainJSON: Bool {
        unsafe withUnsafeBytes { unsafe WideBytes.none(of: $0) { escaped($0) | $0 & WideBytes.highs } }
    }
}

/// Not 0 when a byte of the part has to be escaped.
@inline(__always) func escaped(_ part: UInt64) -> UInt64 {
    WideBytes.below(0x20, in: part) | WideBytes.equal("\"", in: part) | WideBytes.equal("\\", in: part)
}

extension JSONValue {
    /// This value as compact JSON text.
    public var jsonBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendJSON(self)
        return bytes
    }

    public var jsonText: String {
        String(decoding: jsonBytes, as: UTF8.self)
    }
}
