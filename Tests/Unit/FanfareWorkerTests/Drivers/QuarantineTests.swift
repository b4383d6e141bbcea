import FanfareCore
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Which project runs its quarantined batch, as the projects of a process report and come and go.
@Suite struct QuarantineTests {
    private typealias Stay = QuarantineGate.Stay
    private final class Begun { var stays: [Stay] = [] }

    private let quarantine = Quarantine(projects: ["p", "q"])
    private let begun = Begun()

    init() { quarantine.onBegin = { [begun] in begun.stays.append($0) } }

    @Test func sharedQuarantineBeginsAtOnce() {
        quarantine.handle(.enter("p", .shared))
        #expect(begun.stays == [Stay("p", .shared)])
        #expect(quarantine.gate.admits("q"))
    }

    @Test func exclusiveQuarantineBeginsOnceTheOthersAreQuiet() {
        quarantine.handle(.enter("p", .exclusive))
        quarantine.handle(.busy("q"))
        #expect(begun.stays == [] && !quarantine.gate.admits("q"))
        quarantine.handle(.quiet("q"))
        #expect(begun.stays == [Stay("p", .exclusive)])
        #expect(quarantine.gate.admits("p") && !quarantine.gate.admits("q"))
    }

    @Test func removedHolderLetsTheNextProjectBegin() {
        quarantine.handle(.enter("p", .shared))
        quarantine.handle(.enter("q", .shared))
        #expect(begun.stays == [Stay("p", .shared)])
        quarantine.remove("p")
        #expect(begun.stays == [Stay("p", .shared), Stay("q", .shared)])
    }

    @Test func removedProjectIsNotAwaited() {
        quarantine.handle(.enter("p", .exclusive))
        quarantine.remove("q")
        #expect(begun.stays == [Stay("p", .exclusive)])
    }

    @Test func addedProjectIsAwaited() {
        quarantine.add("r")
        quarantine.handle(.enter("p", .exclusive))
        quarantine.handle(.quiet("q"))
        #expect(begun.stays == [])
        quarantine.handle(.quiet("r"))
        #expect(begun.stays == [Stay("p", .exclusive)])
    }

    // MARK: The runner's reports

    @Test func projectIsQuietWithoutUnwrittenResults() throws {
        let bench = try DriverBench()
        let quarantine = bench.context.quarantine
        quarantine.onBegin = { [begun] in begun.stays.append($0) }
        quarantine.add("q")
        bench.writer.open(isSameServer: true)
        bench.writer.write(DriverBench.flush("a"))
        quarantine.handle(.enter("q", .exclusive))
        #expect(bench.sent() == ["record"])
        bench.runner.reportToQuarantine()
        #expect(begun.stays == [], "a result is not written")
        bench.redis.answer(.pairs(["outcome": .text("ok")]))
        bench.runner.reportToQuarantine()
        #expect(begun.stays == [Stay("q", .exclusive)])
    }

    @Test func quarantinedBatchIsClaimedAtOnce() throws {
        let bench = try DriverBench()
        bench.runner.beginQuarantined(.shared)
        #expect(bench.sent() == ["claim"])
    }
}
