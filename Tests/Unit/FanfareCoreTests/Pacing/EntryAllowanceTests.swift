import FanfareCore
import Testing

@Suite struct EntryAllowanceTests {
    /// A stream that has given such entries for a while.
    private func stream(of bytes: Int) -> EntryAllowance {
        var allowance = EntryAllowance()
        for _ in 0..<20 { allowance.took(largest: bytes) }
        return allowance
    }

    private func count(_ allowance: EntryAllowance) -> Int { EntryAllowance.count([allowance]) }

    @Test func aStreamThatNobodyKnowsIsAskedForOne() {
        #expect(count(EntryAllowance()) == 1)
        let many = [EntryAllowance](repeating: EntryAllowance(), count: 100)
        #expect(EntryAllowance.streams(many) == 1 && EntryAllowance.count(many) == 1)
    }

    @Test func smallEntriesAreSoonAskedForByTheHundreds() {
        var allowance = EntryAllowance()
        var counts: [Int] = []
        for _ in 0..<9 {
            allowance.took(largest: 400)
            counts.append(count(allowance))
        }
        #expect(counts == [2, 4, 8, 16, 32, 64, 128, 256, 256])
        let many = [EntryAllowance](repeating: stream(of: 400), count: 80)
        #expect(EntryAllowance.streams(many) == 80 && EntryAllowance.count(many) == 256)
    }

    @Test func entriesLargerThanAnAnswerAreAskedForOneByOne() {
        var allowance = stream(of: 400)
        allowance.took(largest: 100_000_000)
        #expect(count(allowance) == 1)
        // The next large one is not met by 256 at once.
        allowance.took(largest: 400)
        #expect(count(allowance) == 2)
    }

    @Test(arguments: [1, 2, 5]) func whatIsAskedForFitsIfEntriesStayAsTheyAre(streams: Int) {
        for size in stride(from: 1_000, through: 1 << 20, by: 997) {
            let all = [EntryAllowance](repeating: stream(of: size), count: streams)
            #expect(EntryAllowance.streams(all) == streams)
            #expect(EntryAllowance.count(all) * streams * size <= EntryAllowance.mostBytes)
        }
    }

    /// Small entries of one project say nothing of another's.
    @Test func aStreamOfLargeEntriesIsAskedAlone() {
        let (small, large) = (stream(of: 400), stream(of: 50_000_000))
        #expect(EntryAllowance.streams([large, small, small]) == 1)
        #expect(EntryAllowance.streams([small, small, large, small]) == 2)
        let medium = stream(of: 3 << 20)
        #expect(EntryAllowance.streams([medium, medium, medium]) == 2)
        #expect(EntryAllowance.count([medium, medium]) == 1)
    }

    @Test func anAnswerWithoutEntriesSaysLittle() {
        var never = EntryAllowance()
        for _ in 0..<100 { never.took(largest: 0) }
        // Many such are asked together, and each may give one that is large.
        #expect(EntryAllowance.streams([EntryAllowance](repeating: never, count: 100)) == 32)
        #expect(EntryAllowance.count([EntryAllowance](repeating: never, count: 32)) == 1)
        #expect(count(never) == 1)
        // A busy one among them is not held to that.
        let busy = stream(of: 400)
        #expect(EntryAllowance.streams([busy, never, never]) == 1 && count(busy) == 256)
        #expect(EntryAllowance.streams([never, never, busy]) == 2)
        var large = stream(of: 50_000_000)
        for _ in 0..<100 { large.took(largest: 0) }
        #expect(count(large) == 1)
    }

    @Test func anAnswerThatWasTooMuchIsAskedForAgainInParts() {
        var allowance = stream(of: 400)
        allowance.tookTooMuch()
        #expect(count(allowance) == 1)
    }
}
