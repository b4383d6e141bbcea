import Testing

@testable import FanfareWorker

@Suite struct QuarantineGateTests {
    /// What a process with two projects has under way, and who has begun to run alone.
    private final class Process {
        let quarantine = QuarantineGate()
        var underWay: Set<String> = []
        var begun: [String] = []

        init() {
            for project in ["a", "b"] {
                quarantine.join(project) { [unowned self] in !underWay.contains(project) }
            }
        }

        func enter(_ project: String, _ name: String) {
            quarantine.enter(project) { [unowned self] in begun.append(name) }
        }
    }

    @Test func oneRunsAloneWhenTheOthersAreQuiet() {
        let process = Process()
        process.underWay = ["b"]
        process.enter("a", "a1")
        #expect(process.begun.isEmpty)
        #expect(!process.quarantine.admits("a") && !process.quarantine.admits("b"), "nobody begins anything new")
        process.underWay = []
        process.quarantine.tick()
        #expect(process.begun == ["a1"])
        #expect(process.quarantine.admits("a") && !process.quarantine.admits("b"))
        process.enter("b", "b1")
        #expect(process.begun == ["a1"])
        process.quarantine.leave("a")
        #expect(process.begun == ["a1", "b1"])
        process.quarantine.leave("b")
        #expect(process.quarantine.admits("a") && process.quarantine.admits("b"))
    }

    /// Redis gives out the next batch as soon as the last one is closed, before this process has looked round.
    @Test func whoRunsAloneGoesOnWithTheNextBatch() {
        let process = Process()
        process.enter("a", "a1")
        process.enter("a", "a2")
        #expect(process.begun == ["a1", "a2"])
        process.enter("b", "b1")
        process.quarantine.leave("a")
        #expect(process.begun == ["a1", "a2", "b1"])
    }
}
