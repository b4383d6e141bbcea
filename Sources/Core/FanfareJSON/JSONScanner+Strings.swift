extension JSONScanner {
    /// A string; `next` is at its opening quote. Most strings have no escape and are copied in one piece.
    package mutating func string() throws(JSONError) -> String {
        next += 1
        let start = next
        try skipPlain()
        if bytes[next] == UInt8(ascii: "\"") {
            let text = String(decoding: bytes[start..<next], as: UTF8.self)
            next += 1
            return text
        }
        isCompact = false
        var text = Array(bytes[start..<next])
        while true {
            if bytes[next] == UInt8(ascii: "\"") {
                next += 1
                return String(decoding: text, as: UTF8.self)
            }
            try appendEscape(to: &text)
            let plain = next
            try skipPlain()
            text.append(contentsOf: bytes[plain..<next])
        }
    }

    /// Reads a string without escapes and returns the range between its quotes. Returns nil, and reads nothing, where the
    /// string has an escape.
    package mutating func plainString() throws(JSONError) -> Range<Int>? {
        let quote = next
        next += 1
        try skipPlain()
        guard bytes[next] == UInt8(ascii: "\"") else {
            isCompact = false
            next = quote
            return nil
        }
        next += 1
        return quote + 1..<next - 1
    }

    /// Stops at a quote or a backslash; afterwards `next` is within bounds.
    private mutating func skipPlain() throws(JSONError) {
        skipPlainParts()
        while next < end {
            let byte = bytes[next]
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): return
            case 0..<0x20: throw error("unescaped control character in a string")
            case 0x20..<0x80: next += 1
            default:
                next += try wideCharacterLength()
                skipPlainParts()
            }
        }
        throw error("the text ends within a string")
    }

    /// Skips as many parts of eight bytes as are ASCII without a quote, a backslash or a control character.
    private mutating func skipPlainParts() {
        next = unsafe bytes.withUnsafeBytes { bytes in
            var at = next
            while end - at >= 8 {
                let part = unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                guard escaped(part) | part & WideBytes.highs == 0 else { break }
                at += 8
            }
            return at
        }
    }

    /// The length of the well-formed UTF-8 sequence at `next` (Unicode's table 3-7).
    private func wideCharacterLength() throws(JSONError) -> Int {
        let lead = bytes[next]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw error("invalid UTF-8")
        }
        guard end - next >= length, second.contains(bytes[next + 1]) else { throw error("invalid UTF-8") }
        for index in (next + 2)..<max(next + 2, next + length) where bytes[index] & 0xC0 != 0x80 {
            throw error("invalid UTF-8")
        }
        return length
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONError) {
        let start = next
        next += 1
        guard next < end else { throw error("the text ends within a string") }
        let letter = bytes[next]
        next += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try escapedScalar(from: start)).utf8)
        default: throw error("unknown escape in a string", at: start)
        }
    }

    /// The scalar of `\uXXXX` or of a surrogate pair of two of them; `next` is at the first hexadecimal digit.
    private mutating func escapedScalar(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let unit = try hexadecimalUnit()
        if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
        guard unit < 0xDC00, bytes[next..<end].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            throw error("lone surrogate in a string", at: start)
        }
        next += 2
        let low = try hexadecimalUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
        else { throw error("lone surrogate in a string", at: start) }
        return scalar
    }

    private mutating func hexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard next < end, let digit = hexadecimalValue(bytes[next]) else {
                throw error("a unicode escape must have four hexadecimal digits")
            }
            unit = unit << 4 | digit
            next += 1
        }
        return unit
    }

    private func hexadecimalValue(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): return UInt16(byte - UInt8(ascii: "A") + 10)
        default: return nil
        }
    }
}
