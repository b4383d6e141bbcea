import FanfareCore
import Testing

@Suite struct ServiceReportsTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func startingWorkerExtendsItsTimeoutEveryTenSeconds() {
        var reports = ServiceReports(watchdogNs: nil)
        let extended = (0..<25).filter { second in
            reports.next(isReady: false, isDraining: false, now: UInt64(second) * Self.second)
                == [.extendTimeout(ms: 30_000)]
        }
        #expect(extended == [0, 10, 20])
    }

    @Test func readyWorkerReportsReadinessOnceAndThenItsStatus() {
        var reports = ServiceReports(watchdogNs: nil)
        #expect(reports.next(isReady: true, isDraining: false, now: 5) == [.ready])
        #expect(reports.next(isReady: true, isDraining: false, now: 4 + 10 * Self.second).isEmpty)
        #expect(reports.next(isReady: false, isDraining: false, now: 5 + 10 * Self.second) == [.status])
        #expect(reports.next(isReady: true, isDraining: false, now: 6 + 10 * Self.second).isEmpty)
    }

    @Test(arguments: [false, true]) func drainingWorkerReportsTheStopOnce(wasReady: Bool) {
        var reports = ServiceReports(watchdogNs: nil)
        _ = reports.next(isReady: wasReady, isDraining: false, now: 0)
        #expect(reports.next(isReady: false, isDraining: true, now: 1) == [.stopping])
        #expect(reports.next(isReady: false, isDraining: true, now: 2).isEmpty)
        #expect(reports.next(isReady: true, isDraining: true, now: 11 * Self.second) == [.status])
    }

    @Test func workerReportsLifeTwiceInEachWatchdogInterval() {
        var reports = ServiceReports(watchdogNs: 4 * Self.second)
        let alive = (0..<9).filter { second in
            reports.next(isReady: false, isDraining: true, now: UInt64(second) * Self.second).contains(.alive)
        }
        #expect(alive == [0, 2, 4, 6, 8])
    }
}
