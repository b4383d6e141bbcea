import Testing

@testable import FanfareCore

@Suite struct LostWorkersTests {
    @Test func lossInManyProjectsIsOneLine() {
        var lost = LostWorkers()
        #expect(lost.add(lease: "node-7.x1.1", project: "shop", batches: 2) == "node-7.x1")
        for (number, project) in ["bank", "news", "bank", "video"].enumerated() {
            #expect(lost.add(lease: "node-7.x1.\(number)", project: project, batches: 1) == nil)
        }
        #expect(lost.workers == ["node-7.x1"])
        let loss = lost.remove("node-7.x1")
        #expect(loss == LostWorkers.Loss(batches: 6, projects: ["bank", "news", "shop", "video"]))
        #expect(loss?.projectNames == "bank, news, shop and 1 more")
        #expect(lost.remove("node-7.x1") == nil && lost.workers == [])
    }

    @Test func eachWorkerHasItsOwnLine() {
        var lost = LostWorkers()
        #expect(lost.add(lease: "a.x1.1", project: "p", batches: 0) == "a.x1")
        #expect(lost.add(lease: "a.x2.1", project: "p", batches: 3) == "a.x2", "another process of the same name")
        #expect(lost.add(lease: "odd", project: "p", batches: -1) == "odd", "whatever a peer calls itself")
        #expect(lost.remove("a.x2") == .init(batches: 3, projects: ["p"]))
        #expect(lost.remove("odd") == .init(batches: 0, projects: ["p"]))
        #expect(
            lost.add(lease: "a.x2.1", project: "q", batches: 1) == "a.x2",
            "after its line a further loss is a new one"
        )
    }
}
