import Testing

@testable import FanfareCore

@Suite struct PublicKeyTextTests {
    @Test func keyIsWrittenInOneForm() throws {
        let key = try AssertionTrial.publicKey(1)
        #expect(key.pem.hasPrefix("-----BEGIN PUBLIC KEY-----\n") && key.pem.hasSuffix("\n-----END PUBLIC KEY-----\n"))
        #expect(key.pem.split(separator: "\n").dropFirst().dropLast(2).allSatisfy { $0.count == 64 })
        #expect(PublicKeyText(pem: key.pem.replacing("\n", with: "\r\n")) == key)
        #expect(key != (try AssertionTrial.publicKey(2)))
    }

    @Test func otherTextsAreNoKeys() throws {
        let pem = try AssertionTrial.publicKey(1).pem
        let texts = [
            "", "x", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", pem.replacing("PUBLIC", with: "PRIVATE"),
            "a\n" + pem, pem + pem, pem.replacing("A", with: "?"),
            // The algorithm of a key on a curve.
            AssertionTrial.pem([0x30, 0x82, 0x01, 0x22] + [UInt8](repeating: 7, count: 290)),
            AssertionTrial.pem([UInt8](repeating: 0x30, count: 20)),
            AssertionTrial.pem([UInt8](repeating: 0x30, count: 2_000)),
        ]
        for (index, text) in texts.enumerated() { #expect(PublicKeyText(pem: text) == nil, "\(index)") }
    }
}
