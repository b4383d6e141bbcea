import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// The order of a session with Redis: connected, prepared, compared, registered, at work; and what ends each step.
@Suite struct SessionTests {
    private let bench: SessionBench

    init() throws { bench = try SessionBench() }

    /// Loses the connection and answers nothing for a while.
    private func lose() {
        bench.redis.lose()
        bench.loop.advance(milliseconds: 3_000)
    }

    // MARK: The first connection

    @Test func serverIsPreparedBeforeAnyProjectWorks() {
        bench.link.start()
        #expect(bench.redis.hasConnected && bench.reads.hasConnected)
        #expect(bench.sent() == [])
        bench.redis.becomeReady()
        #expect(bench.sent() == ["FUNCTION"])
        bench.loop.advance(milliseconds: 5_000)
        #expect(bench.sent() == [])
        bench.redis.answer(.status("OK"))
        #expect(bench.redis.waiting.map(\.words) == [["INFO", "server", "memory"]])
        bench.loop.advance(milliseconds: 5_000)
        #expect(bench.sent() == ["INFO"])
        #expect(!bench.link.isLoaded)
        bench.redis.answer(.text(bench.info))
        #expect(bench.link.isLoaded)
        #expect(bench.sent() == ["check", "XGROUP", "reconcile", "register"])
    }

    @Test func claimsBeginAfterComparisonAndRegistration() {
        bench.link.start()
        bench.redis.becomeReady()
        for stop in ["reconcile", "register"] {
            bench.serve(until: stop)
            bench.loop.advance(milliseconds: 1_000)
            #expect(bench.sent().contains("claim") == false, "before \(stop)")
            #expect(!bench.runner.isReady || !bench.runner.context.isReady)
        }
        bench.serve()
        #expect(bench.sent() == ["claim"])
        #expect(bench.runner.isReady && bench.runner.context.isReady)
    }

    // MARK: A lost connection

    @Test func nothingIsWrittenWhileTheConnectionIsAway() {
        bench.work()
        bench.runner.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.lose()
        bench.runner.writer.write(DriverBench.flush("b"))
        bench.loop.advance(milliseconds: 60_000)
        #expect(!bench.runner.context.isReady && !bench.link.isLoaded)
        // What no send and no result depends on may fail at once.
        #expect(!bench.redis.namesWhileAway.contains { $0.hasPrefix("record") || $0 == "claim" || $0 == "reconcile" })
    }

    @Test func reconnectionComparesBeforeItWritesAndClaims() {
        bench.work()
        bench.runner.writer.write(DriverBench.flush("a"))
        _ = bench.sent()
        lose()
        bench.runner.writer.write(DriverBench.flush("b"))
        bench.redis.becomeReady()
        bench.serve(until: "INFO")
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["FUNCTION", "INFO"])
        bench.redis.answer(.text(bench.info))
        #expect(bench.sent() == ["check", "XGROUP", "reconcile", "records"], "the name is held: it is not registered")
        bench.serve()
        #expect(bench.sent() == ["claim"])
    }

    private func comparison(after info: String) -> (isSame: String?, news: String?) {
        bench.work()
        bench.info = info
        lose()
        bench.redis.becomeReady()
        bench.serve(until: "reconcile")
        let isSame = bench.redis.waiting.first?.words[3]
        bench.serve(until: "claim")
        bench.loop.advance()
        return (isSame, bench.redis.waiting.first?.words[14])
    }

    @Test func sameServerIsRecognisedByItsRun() {
        let (isSame, news) = comparison(after: bench.info)
        #expect(isSame == "1" && news == "9")
    }

    @Test(arguments: ["run_id:second\r\n", ""]) func anotherRunIsAskedForAllNews(_ info: String) {
        let (isSame, news) = comparison(after: info)
        #expect(isSame == "0" && news == "0")
    }

    /// The results that Redis confirmed before it was replaced are written before the comparison.
    @Test func anotherServerGetsTheLastResultsBeforeTheComparison() {
        bench.work()
        bench.runner.writer.write(DriverBench.flush("a"))
        bench.serve()
        bench.info = "run_id:second\r\n"
        lose()
        bench.runner.writer.write(DriverBench.flush("b"))
        bench.redis.becomeReady()
        bench.serve(until: "record")
        bench.loop.advance()
        let words = bench.redis.waiting.map { $0.words.prefix(2).joined(separator: " ") }
        #expect(words == ["record a", "reconcile w.0.1", "record b"])
    }

    @Test(arguments: ["FUNCTION", "INFO", "reconcile", "register"])
    func connectionThatEndsDuringAStepBeginsAgain(_ step: String) {
        bench.link.start()
        bench.redis.becomeReady()
        bench.serve(until: step)
        bench.redis.lose()
        bench.redis.becomeReady()
        #expect(bench.redis.waiting.map(\.name) == ["FUNCTION"])
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.waiting.map(\.name) == ["FUNCTION"])
        #expect(!bench.link.isLoaded && !bench.runner.context.isReady)
        bench.serve()
        #expect(bench.sent().last == "claim")
    }

    /// Its answer would make the new connection look prepared.
    @Test(arguments: ["FUNCTION", "INFO"]) func lateAnswerOfAnEarlierConnectionIsIgnored(_ step: String) {
        bench.link.start()
        bench.redis.becomeReady()
        bench.serve(until: step)
        let late = bench.redis.removeFirst()
        bench.redis.lose()
        bench.redis.becomeReady()
        late.completion(.success(late.usualReply))
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.waiting.map(\.name) == ["FUNCTION"])
        #expect(!bench.link.isLoaded)
    }

    @Test func connectionNumberGrowsSoThatLateCallsAreRefused() {
        bench.work()
        #expect(bench.runner.context.connection == 2)
        lose()
        bench.redis.becomeReady()
        bench.serve(until: "reconcile")
        #expect(bench.redis.waiting.first?.words[2] == "4")
    }

    // MARK: Functions and configuration

    @Test func libraryIsLoadedOnceWhenSeveralCallsMissIt() {
        bench.work()
        // The number of reloads is bounded in time.
        bench.loop.advance(milliseconds: 2_000)
        bench.serve()
        _ = bench.sent()
        for _ in 0..<3 { bench.redis.onFunctionMissing() }
        #expect(bench.redis.names == ["FUNCTION"])
        bench.serve(until: "reconcile")
        #expect(bench.redis.waiting.first?.words[3] == "1", "the same server")
        bench.redis.onFunctionMissing()
        #expect(!bench.redis.names.dropFirst().contains("FUNCTION"))
    }

    /// A deploy user has loaded the functions: the worker's own user may only call them.
    @Test func functionsThatAreThereNeedNotBeLoaded() {
        bench.link.start()
        bench.redis.becomeReady()
        bench.redis.refuse("NOPERM no right to load")
        #expect(bench.redis.waiting.map(\.name) == ["spec"])
        bench.serve()
        #expect(bench.link.isLoaded)
        #expect(bench.heard.messages == ["The worker is connected."])
    }

    @Test func missingFunctionsAreLookedForEveryTwoSeconds() {
        bench.link.start()
        bench.redis.becomeReady()
        for _ in 0..<3 {
            bench.redis.refuse("NOPERM no right to load")
            bench.redis.refuse("ERR Function not found")
            #expect(!bench.link.isLoaded)
            #expect(bench.link.condition == "lacks Fanfare's functions")
            bench.loop.advance(milliseconds: 1_999)
            #expect(bench.redis.waiting.isEmpty)
            bench.loop.advance(milliseconds: 1)
            #expect(bench.redis.waiting.map(\.name) == ["FUNCTION"])
        }
        bench.serve()
        #expect(bench.link.condition == "connected")
    }

    @Test func serverThatMayDropKeysIsNotUsed() {
        bench.info = "run_id:first\r\nmaxmemory_policy:allkeys-lru\r\n"
        bench.link.start()
        bench.redis.becomeReady()
        bench.serve()
        #expect(!bench.link.isLoaded)
        #expect(bench.sent() == ["FUNCTION", "INFO"])
        bench.loop.advance(milliseconds: 4_999)
        #expect(bench.sent() == [])
        bench.info = "run_id:first\r\nmaxmemory_policy:noeviction\r\n"
        bench.loop.advance(milliseconds: 1)
        bench.serve()
        #expect(bench.link.isLoaded)
    }

    /// A user without the right to INFO: its operator chose the rules, so the checks are left out.
    @Test func refusedInfoSkipsTheCheckAndAFailedOneIsRepeated() {
        bench.link.start()
        bench.redis.becomeReady()
        bench.serve(until: "INFO")
        bench.redis.refuse("LOADING the data set")
        #expect(!bench.link.isLoaded)
        bench.loop.advance(milliseconds: 500)
        #expect(bench.redis.waiting.map(\.name) == ["INFO"])
        bench.redis.refuse("NOPERM no right")
        #expect(bench.link.isLoaded)
    }

    // MARK: Leases

    @Test func fencedWorkerWritesLateFactsAndRegistersUnderItsNextName() {
        bench.work()
        bench.serve()
        _ = bench.sent()
        bench.runner.session.declaredDead("w.0.1")
        #expect(bench.redis.waiting.map(\.words) == [["register", "w.0.2"]])
        #expect(!bench.runner.context.leaseHolds && bench.leases.held.isEmpty)
        bench.runner.session.declaredDead("w.0.1")
        bench.loop.advance(milliseconds: 1_000)
        let sent = bench.sent()
        #expect(sent.count { $0 == "register" } == 1 && !sent.contains("claim"))
        bench.serve()
        #expect(bench.leases.held.map(\.name) == ["w.0.2"])
    }

    /// The name was declared dead while the connection was away: it must not come back with batches of others.
    @Test func workerFencedWhileAwayRegistersOnTheNextConnection() {
        bench.work()
        bench.redis.lose()
        bench.runner.session.declaredDead("w.0.1")
        bench.loop.advance(milliseconds: 3_000)
        bench.redis.becomeReady()
        bench.serve(until: "register")
        #expect(bench.redis.waiting.first?.words == ["register", "w.0.2"])
        bench.serve()
        #expect(bench.leases.held.map(\.name) == ["w.0.2"])
    }

    // MARK: Projects

    @Test func projectThatIsOpenedDuringThePreparationWaitsForIt() throws {
        bench.link.start()
        bench.redis.becomeReady()
        try bench.link.open(.legacy("q"))
        #expect(bench.sent() == ["FUNCTION"])
        bench.redis.answer(.status("OK"))
        bench.redis.answer(.text(bench.info))
        let ofProject = ["check", "XGROUP", "reconcile", "register"]
        // The check of the second one follows later: it takes Redis long.
        #expect(bench.sent() == ["INFO"] + ofProject + ofProject.dropFirst())
    }

    @Test func projectThatIsOpenedLaterIsComparedAlone() throws {
        bench.work()
        _ = bench.sent()
        try bench.link.open(.legacy("q"))
        #expect(bench.sent() == ["check", "XGROUP", "reconcile", "register"])
        bench.serve()
        #expect(bench.leases.held.count == 2)
    }

    /// The next runner of a project writes again what the one before it had confirmed, if Redis was replaced meanwhile.
    @Test func reopenedProjectMissesNoFailover() throws {
        bench.work()
        bench.runner.writer.write(DriverBench.flush("a"))
        bench.serve()
        bench.link.close(bench.runner)
        bench.info = "run_id:second\r\n"
        bench.redis.lose()
        bench.redis.becomeReady()
        bench.serve()
        try bench.link.open(.legacy("p", key: "key-2"))
        bench.serve(until: "reconcile")
        #expect(bench.redis.waiting.first?.words[3] == "0")
    }

    @Test func closedProjectSendsNothingMore() {
        bench.work()
        let runner = bench.runner
        for job in ["a", "b"] { runner.writer.write(DriverBench.flush(job, results: 20)) }
        bench.link.close(runner)
        bench.redis.refuse()
        bench.serve()
        runner.writer.write(DriverBench.flush("c"))
        runner.claimer.claim()
        _ = bench.sent()
        #expect(bench.leases.held.isEmpty)
        bench.loop.advance(milliseconds: 120_000)
        #expect(bench.sent() == [])
    }

    @Test func leavingGivesTheLeaseBackAndStopsClaiming() {
        bench.work()
        _ = bench.sent()
        var hasLeft = false
        bench.runner.drain()
        bench.runner.leave { hasLeft = true }
        #expect(bench.redis.names.last == "deregister")
        #expect(bench.leases.held.isEmpty && !hasLeft)
        bench.serve()
        #expect(hasLeft)
    }

    @Test func leavingWithoutAConnectionWaitsForNothing() {
        bench.work()
        bench.redis.lose()
        var hasLeft = false
        bench.runner.leave { hasLeft = true }
        #expect(hasLeft)
        #expect(bench.redis.namesWhileAway == [])
    }
}
