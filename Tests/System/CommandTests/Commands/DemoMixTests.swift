import Testing

@testable import fanfare

@Suite struct DemoMixTests {
    @Test(arguments: [1, 10, 999, 1_000, 10_000, 12_345])
    func mixExpectsOneResultPerRecipient(count: Int) {
        let mix = DemoMix(count: count)
        #expect(Set((0..<count).map(mix.token)).count == count)
        #expect(mix.expected.values.reduce(0, +) == count)
    }

    @Test func thousandRecipientsHoldEveryKind() throws {
        let mix = DemoMix(count: 1_000)
        #expect(mix.expected[.sent] == 960)
        #expect(mix.expected[DemoMix.Row(status: "failed", error: "UNREGISTERED", action: "remove")] == 20)
        let tokens = (0..<1_000).map(mix.token)
        #expect(tokens.filter { $0.hasPrefix("sbx-quota-1-") }.count == 5)
        // Trouble comes early too: a batch is not all of one kind.
        #expect(tokens.prefix(100).contains { $0.hasPrefix("sbx-unregistered-") })
    }
}
