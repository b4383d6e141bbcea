import Testing

@testable import FanfareCore

@Suite struct KeyDigestTests {
    private static let text = "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f"

    @Test func hexadecimalTextIsReadInEitherCaseAndWrittenInLowerCase() throws {
        let digest = try #require(KeyDigest(hexadecimal: Self.text))
        #expect(digest.hexadecimal == Self.text)
        #expect(KeyDigest(hexadecimal: Self.text.uppercased()) == digest)
        let bytes = stride(from: 0, through: 0xFF, by: 0x11).map { UInt8($0) } + Array(0...15)
        #expect(KeyDigest(bytes) == digest)
    }

    @Test(arguments: ["", "00", String(text.dropLast()), text + "0", "g" + text.dropFirst(), "é" + text.dropFirst(2)])
    func otherTextIsNoDigest(text: String) { #expect(KeyDigest(hexadecimal: text) == nil) }

    @Test func otherNumberOfBytesIsNoDigest() {
        for count in [0, 31, 33] { #expect(KeyDigest([UInt8](repeating: 1, count: count)) == nil) }
    }

    @Test func everyBitCounts() throws {
        let zero = try #require(KeyDigest([UInt8](repeating: 0, count: 32)))
        for bit in 0..<256 {
            var bytes = [UInt8](repeating: 0, count: 32)
            bytes[bit / 8] = 1 << (bit % 8)
            #expect(KeyDigest(bytes) != zero, "bit \(bit)")
        }
    }

    @Test func digestIsNotPrinted() throws {
        let key = GatewayKey(
            name: "shop",
            proof: .digest(try #require(KeyDigest(hexadecimal: Self.text))),
            projects: ["demo"]
        )
        var dumped = ""
        dump(key, to: &dumped)
        let first = String(UInt64(0x0011_2233_4455_6677))
        #expect(dumped.contains("shop") && !dumped.contains(first) && !"\(key)".contains(first))
    }
}
