extension JSONScanner {
    /// Skips one byte, which must not be the end.
    package mutating func advance() {
        precondition(next < end, "the text is over")
        next += 1
    }

    /// Reads a value and checks it as ``value()`` does, without building it.
    package mutating func skipValue() throws(JSONError) {
        switch nextByte {
        case UInt8(ascii: "\""):
            if try plainString() == nil { _ = try string() }
        case UInt8(ascii: "{"):
            try enter()
            var isFirst = true
            while try findMember(isFirst: isFirst) {
                isFirst = false
                try skipValue()
                try skipColon()
                try skipValue()
            }
        case UInt8(ascii: "["):
            try enter()
            var isFirst = true
            while try findElement(isFirst: isFirst) {
                isFirst = false
                try skipValue()
            }
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): try skipNumber()
        default: _ = try value()
        }
    }

    /// Kind of the next value by its first byte, for a sentence such as `must be a string, not an array`; nil if no value
    /// begins with that byte.
    package var nextKindName: String? {
        guard let nextByte else { return nil }
        switch nextByte {
        case UInt8(ascii: "\""): return "a string"
        case UInt8(ascii: "["): return "an array"
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return "a boolean"
        case UInt8(ascii: "n"): return "null"
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return "a number"
        default: return nil
        }
    }
}
