import FanfareModel
import Testing

@Suite struct RawErrorTests {
    @Test(arguments: [
        ("UNREGISTERED", "UNREGISTERED"), (" a b\n", "a b"), ("a\u{D}b\u{0}c\u{7F}\u{84}d", "a?b?c??d"), ("", ""),
        ("\n\t ", ""),
    ])
    func cleans(raw: String, expected: String) {
        #expect(RawError.clean(raw) == expected)
    }

    @Test func cutsAtACharactersEdge() {
        let long = RawError.clean(String(repeating: "€", count: 1_000))
        #expect(long == String(repeating: "€", count: 66))
        #expect(RawError.clean([UInt8](repeating: 0xFF, count: 10_000_000)).utf8.count <= RawError.maximumBytes)
    }
}
