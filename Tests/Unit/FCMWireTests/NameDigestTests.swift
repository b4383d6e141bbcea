import Testing

@testable import FCMWire

/// The names are part of the contract: two versions of the worker must derive the same one.
@Suite struct NameDigestTests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb924"), ("abc", "ba7816bf8f01cfea414140de5dae2223"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039"),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67"),
    ])
    func nameIsTheFirstHalfOfTheStandardsVector(text: String, name: String) {
        #expect(NameDigest.name32(text) == name)
    }
}
