import Testing

@testable import FanfareModel

@Suite struct ByteSearchTests {
    /// Bytes near the wanted one, and its high twin, at every place of texts from 0 to 40 bytes.
    @Test func firstIndexIsThatOfALinearSearch() {
        for count in 0...40 {
            for place in 0...count {
                for wanted in [UInt8(0), 0x0A, 0x8A, 0xFF] {
                    var text = (0..<count).map { [wanted &+ 1, wanted &- 1, wanted ^ 0x80][$0 % 3] }
                    if place < count { text[place] = wanted }
                    for start in [0, 1, place, place + 1, count, count + 9, -1] {
                        let found = unsafe text.withUnsafeBytes {
                            unsafe ByteSearch.firstIndex(of: wanted, in: $0, from: start)
                        }
                        let expected = text.indices.first { start >= 0 && $0 >= start && text[$0] == wanted }
                        #expect(found == expected, "\(wanted) in \(text) from \(start)")
                    }
                }
            }
        }
    }
}
