import FanfareCore
import Testing

@testable import FanfareWorker

@Suite struct LeaseTableTests {
    private let leases = LeaseTable(worker: "w", nonce: 35)

    @Test func nameHoldsTheNonceAndTheGeneration() {
        #expect(leases.lease(in: "p").name == "w.z.1")
    }

    @Test func onlyRegisteredLeasesAreRenewed() {
        #expect(leases.held.isEmpty)
        leases.renewed("p", name: "w.z.1", until: 5)
        #expect(leases.lease(in: "p").validUntil == 0)
        leases.hold("p", until: 10)
        #expect(leases.held.map(\.name) == ["w.z.1"] && leases.lease(in: "p").validUntil == 10)
    }

    @Test func renewalNeverShortensALease() {
        leases.hold("p", until: 10)
        leases.renewed("p", name: "w.z.1", until: 20)
        leases.renewed("p", name: "w.z.1", until: 15)
        #expect(leases.lease(in: "p").validUntil == 20)
    }

    /// The answer to a renewal may arrive after the lease was lost.
    @Test func renewalOfALostNameIsIgnored() {
        leases.hold("p", until: 10)
        leases.lost("p")
        #expect(leases.lease(in: "p").name == "w.z.2" && leases.held.isEmpty && leases.lease(in: "p").validUntil == 0)
        leases.renewed("p", name: "w.z.1", until: 20)
        leases.hold("p", until: 12)
        leases.renewed("p", name: "w.z.1", until: 20)
        #expect(leases.lease(in: "p").validUntil == 12)
    }

    @Test func projectsHaveLeasesOfTheirOwn() {
        leases.hold("p", until: 10)
        leases.lost("q")
        leases.setReport(WorkerReport(inFlight: 7), in: "p")
        #expect(leases.lease(in: "p").name == "w.z.1" && leases.lease(in: "q").name == "w.z.2")
        #expect(leases.report(in: "p").inFlight == 7 && leases.report(in: "q").inFlight == 0)
    }

    /// A name of the project never comes back: batches of the old one may belong to others.
    @Test func closedProjectKeepsItsGeneration() {
        leases.open("p")
        leases.open("q")
        leases.hold("p", until: 10)
        leases.setReport(WorkerReport(inFlight: 7), in: "p")
        leases.close("p")
        #expect(leases.projects == ["q"] && leases.held.isEmpty && leases.lease(in: "p").validUntil == 0)
        #expect(leases.report(in: "p") == WorkerReport())
        leases.open("p")
        #expect(leases.lease(in: "p").name == "w.z.2" && leases.projects == ["p", "q"])
    }
}
