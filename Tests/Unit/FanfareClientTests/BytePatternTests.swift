import Testing

@testable import FanfareClient

@Suite struct BytePatternTests {
    /// Two letters only, so that nearly equal parts overlap in every way.
    @Test func patternIsFoundWhereALinearSearchFindsIt() {
        func texts(_ count: Int) -> [[UInt8]] {
            (0..<1 << count).map { bits in (0..<count).map { UInt8(ascii: "a") + UInt8(bits >> $0 & 1) } }
        }
        for pattern in (0...4).flatMap(texts) {
            let search = BytePattern(pattern)
            for text in (0...9).flatMap(texts) {
                let places = stride(from: 0, through: text.count - pattern.count, by: 1)
                let expected = places.contains { text[$0..<$0 + pattern.count].elementsEqual(pattern) }
                #expect(search.occurs(in: text) == expected, "\(pattern) in \(text)")
            }
        }
    }

    @Test func bytesBeyondASCIIAreFound() {
        let search = BytePattern([0xFF, 0x00, 0x80])
        #expect(search.occurs(in: [1, 0xFF, 0xFF, 0x00, 0x80]))
        #expect(!search.occurs(in: [1, 0xFF, 0x00, 0xFF, 0x80]))
    }
}
