import FanfareJSON
import Foundation
import Testing

@Suite struct JSONWriterTests {
    @Test func escapesWhatItMustAndNothingElse() {
        #expect(
            JSONValue.string("a\"\\/\n\r\t\u{8}\u{0}\u{1f}\u{7f}é😀\u{2028}").jsonText
                == "\"a\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\u{7f}é😀\u{2028}\""
        )
    }

    @Test func writesCompactlyInOrder() throws {
        let text = #"{"b":[1,-2.50,true,null],"a":{},"b":"x","c":[[],{"d":1e5}]}"#
        #expect(try JSONParser.parse(Array(text.utf8)).jsonText == text)
    }

    @Test func everyScalarSurvivesFoundation() throws {
        var text = ""
        for code in UInt32(0)..<0x3000 { if let scalar = Unicode.Scalar(code) { text.unicodeScalars.append(scalar) } }
        for code in stride(from: UInt32(0xFFF0), to: 0x1_1000, by: 7) {
            if let scalar = Unicode.Scalar(code) { text.unicodeScalars.append(scalar) }
        }
        let bytes = JSONValue.array([.string(text)]).jsonBytes
        let read = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String])
        #expect(read.first.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
        #expect(try JSONParser.parse(bytes) == .array([.string(text)]))
    }
}
