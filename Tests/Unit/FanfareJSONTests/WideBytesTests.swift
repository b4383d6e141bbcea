import FanfareJSON
import Testing

/// What looks at eight bytes at once has to say what a look at each of them says.
@Suite struct WideBytesTests {
    private func isPlain(_ text: String) -> Bool {
        var json: [UInt8] = []
        json.appendJSONString(text)
        return json.count == text.utf8.count + 2
    }

    private func hasNone(_ text: String, below limit: UInt8) -> Bool {
        WideBytes.none(of: text) { WideBytes.below(limit, in: $0) }
    }

    @Test(arguments: [1, 7, 8, 9, 16, 23]) func eachByteIsSeenWhereverItStands(length: Int) {
        var wrong: [String] = []
        for byte in UInt8(0)..<128 {
            for place in 0..<length {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                bytes[place] = byte
                let text = String(decoding: bytes, as: UTF8.self)
                let isDigit = !WideBytes.none(of: text) { WideBytes.within("0", "9", in: $0) }
                let isEqual = !WideBytes.none(of: text) { WideBytes.equal("_", in: $0) }
                let isRight =
                    isPlain(text) == (byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\"))
                    && hasNone(text, below: 0x30) == (byte >= 0x30) && isDigit == (0x30...0x39).contains(byte)
                    && isEqual == (byte == UInt8(ascii: "_"))
                if !isRight { wrong.append("byte \(byte) at \(place) of \(length)") }
            }
        }
        #expect(wrong == [])
    }

    @Test func whatIsNotASCIIIsPlain() {
        #expect(isPlain("Grüße an 東京, 🎺🎺🎺"))
        #expect(!isPlain("東京\"東京東京"))
    }
}
