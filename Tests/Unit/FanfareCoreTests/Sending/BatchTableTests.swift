import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

@Suite struct BatchTableTests {
    private static func batch(_ job: Int, of id: String) -> HeldBatch {
        HeldBatch(Claim(job: id, epoch: "1", watermark: 0, taken: RecipientList()), job: job, startedNs: 0)
    }

    @Test func removedSlotsAreUsedAgain() {
        var table = BatchTable()
        let job = table.openJob("a", born: "1")
        let (first, second) = (table.insert(Self.batch(job, of: "a")), table.insert(Self.batch(job, of: "a")))
        #expect(first != second && table.count == 2 && table.slots { _ in true } == [first, second])
        table.remove(first)
        #expect(
            table.batch(first) == nil && table.batch(second) != nil && table.batch(99) == nil && table.batch(-1) == nil
        )
        #expect(table.insert(Self.batch(job, of: "a")) == first)
    }

    @Test func jobLeavesWithItsLastBatch() {
        var table = BatchTable()
        let job = table.openJob("a", born: "1")
        #expect(table.openJob("a", born: "1") == job)
        let (first, second) = (table.insert(Self.batch(job, of: "a")), table.insert(Self.batch(job, of: "a")))
        table[jobOf: first].ending = .cancelled
        #expect(table[jobOf: second].ending == .cancelled)
        table.remove(first)
        #expect(table.jobSlot("a") == job && !table.isEmpty)
        table.remove(second)
        #expect(table.jobSlot("a") == nil && table.isEmpty)
        #expect(table.openJob("b", born: "2") == job && table[job: job].ending == nil)
    }

    /// A batch of an earlier job of the same id may still wait for Redis' answer.
    @Test func laterJobOfTheSameIDHasASlotOfItsOwn() {
        var table = BatchTable()
        let earlier = table.openJob("a", born: "1")
        let slot = table.insert(Self.batch(earlier, of: "a"))
        let later = table.openJob("a", born: "2")
        #expect(later != earlier && table.jobSlot("a") == later)
        let other = table.insert(Self.batch(later, of: "a"))
        table.remove(slot)
        #expect(table.jobSlot("a") == later)
        table.remove(other)
        #expect(table.isEmpty)
    }

    @Test func batchIsChangedInPlace() {
        var table = BatchTable()
        let slot = table.insert(Self.batch(table.openNewJob("a"), of: "a"))
        table.held[slot].inFlight += 3
        #expect(
            table.held[slot].inFlight == 3 && table.batch(slot)?.inFlight == 3
                && table.all.contains { $0.inFlight == 3 }
        )
    }
}
