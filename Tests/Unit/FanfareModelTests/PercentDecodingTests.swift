import FanfareModel
import Testing

@Suite struct PercentDecodingTests {
    private func decoded(_ text: String, plusIsSpace: Bool = false) -> String? {
        PercentDecoding.bytes(of: text.utf8, plusIsSpace: plusIsSpace).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("%41%6a%4A", "AjJ"), ("%C3%A4", "ä"), ("%25%41", "%A"), ("a+b", "a+b"),
    ])
    func escapesBecomeBytes(text: String, expected: String) {
        #expect(decoded(text) == expected)
    }

    @Test func plusBecomesBlankInForms() {
        #expect(decoded("a+b%2B", plusIsSpace: true) == "a b+")
    }

    @Test(arguments: ["%", "%4", "a%4", "%G1", "%1G", "%%41", "%+1", "% 1"])
    func brokenEscapeIsRefused(text: String) {
        #expect(decoded(text) == nil)
    }
}
