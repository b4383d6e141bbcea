import Testing

@testable import FanfareCore

@Suite struct LeaseTests {
    private var lease = Lease(worker: "w")

    @Test func newLeaseIsNeitherHeldNorValid() {
        #expect(lease.name == "w.1" && lease.generation == 1 && !lease.isHeld && lease.validUntil == 0)
    }

    @Test mutating func renewalNeverShortensALease() {
        lease.hold(until: 10)
        #expect(lease.isHeld && lease.validUntil == 10)
        lease.renew("w.1", until: 20)
        lease.renew("w.1", until: 15)
        #expect(lease.validUntil == 20)
    }

    /// A registration begins the lease: before it there is nothing to renew.
    @Test mutating func leaseThatIsNotHeldIsNotRenewed() {
        lease.renew("w.1", until: 20)
        #expect(!lease.isHeld && lease.validUntil == 0)
    }

    /// Redis counts an ended rest as a lease of the usual length, whatever the last renewal said.
    @Test mutating func endOfARestShortensTheLease() {
        lease.rest()
        #expect(!lease.isResting, "nothing is held")
        lease.hold(until: 10)
        lease.rest()
        lease.prolongRest("w.1", wakes: 0, until: 90)
        #expect(lease.isResting && lease.validUntil == 90)
        lease.wake(until: 30)
        #expect(!lease.isResting && lease.wakes == 1 && lease.validUntil == 30)
        lease.wake(until: 20)
        #expect(lease.validUntil == 30, "it did not rest")
        lease.rest()
        lease.prolongRest("w.1", wakes: 0, until: 90)
        #expect(lease.validUntil == 30, "the answer to a call before the last rest ended")
        lease.wake(until: 60)
        #expect(lease.validUntil == 30)
    }

    @Test mutating func registrationEndsARest() {
        lease.hold(until: 10)
        lease.rest()
        lease.prolongRest("w.1", wakes: 0, until: 90)
        lease.hold(until: 20)
        #expect(!lease.isResting && lease.wakes == 1 && lease.validUntil == 20)
    }

    @Test mutating func lostLeaseContinuesUnderTheNextName() {
        lease.hold(until: 10)
        lease.lose()
        #expect(lease.name == "w.2" && lease.generation == 2 && !lease.isHeld && lease.validUntil == 0)
        lease.hold(until: 12)
        lease.renew("w.1", until: 20)
        #expect(lease.validUntil == 12, "the answer to a renewal of the lost name")
    }

    @Test(
        arguments: [(10_000, 2_000, 8_000), (10_000, 6_000, 5_000), (10_000, 20_000, 5_000), (1, 1, 0)]
            as [(
                Int64, Int64, UInt64
            )]
    )
    func spanIsTheLeaseLessARenewalButAtLeastHalfOfIt(leaseMs: Int64, renewMs: Int64, spanMs: UInt64) {
        #expect(Lease.spanNs(leaseMs: leaseMs, renewMs: renewMs) == spanMs * 1_000_000)
    }
}
