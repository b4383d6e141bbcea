import FanfareModel
import Foundation
import Testing

@Suite struct Base64Tests {
    private static let samples = (0..<70).map { length in
        (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 197 &+ length &* 31) }
    }

    private static func url(_ text: String) -> String {
        text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    @Test(arguments: samples) func bothAlphabetsAreEncodedAsByFoundation(bytes: [UInt8]) {
        let expected = Data(bytes).base64EncodedString()
        #expect(String(decoding: Base64.encode(bytes), as: UTF8.self) == expected)
        #expect(String(decoding: Base64.encodeURL(bytes), as: UTF8.self) == Self.url(expected))
    }

    @Test(arguments: samples) func encodedBytesAreDecoded(bytes: [UInt8]) {
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
    }

    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{3FF}>", "z78+")])
    func examplesOfTheRFCAreRead(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == Array(encoded.utf8))
        #expect(Base64.decode(encoded.utf8) == Array(text.utf8))
        #expect(Base64.decodeURL(Self.url(encoded).utf8) == Array(text.utf8))
    }

    @Test(arguments: ["Z", "Zg", "Zg=", "Zg===", "====", "=", "Zg==Zg==", "Z g=", "-_8=", "Zm9v\n", "Zé=="])
    func textThatIsNotPaddedBase64IsRefused(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test(arguments: ["Z", "Zm9vZ", "Zg==", "+/8", "Zm 9", "Zm9é"])
    func textThatIsNotBase64URLIsRefused(text: String) {
        #expect(Base64.decodeURL(text.utf8) == nil)
    }
}
