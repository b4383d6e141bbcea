import FanfareMetrics
import FanfareModel
import HTTPLanes
import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// The gauges of a project, and the sentence of its state.
@Suite struct ProjectGaugesTests {
    private let bench: DriverBench
    private let credential = FakeCredential()
    private let gauges: ProjectGauges

    init() throws {
        bench = try DriverBench()
        let channels = ProjectChannels(bench.context, origin: .init(), credential)
        channels.router.close()
        gauges = ProjectGauges(project: bench.context, channels: channels, credentials: credential)
    }

    /// The value of a metric of the project, as a scraper reads it.
    private func value(_ name: String, _ labels: String = "") -> String? {
        let line = PrometheusText.render(bench.context.registry).split(separator: "\n").first {
            $0.hasPrefix("\(name){project=\"p\"\(labels)} ")
        }
        return line?.split(separator: " ").last.map(String.init)
    }

    private func answerFleet(_ pairs: KeyValuePairs<String, RedisValue>) {
        gauges.update()
        bench.redis.answer(.array([.text("now_ms"), .integer(1)] + (RedisValue.pairs(pairs).array ?? [])))
    }

    // MARK: The fleet

    @Test func fleetIsReadEveryFiveSeconds() {
        for _ in 0..<2 {
            gauges.update()
            #expect(bench.redis.waiting.map(\.words) == [["fleet", "1"]])
            bench.redis.answer(.pairs(["now_ms": .integer(1)]))
            bench.loop.advance(milliseconds: 4_999)
            gauges.update()
            #expect(bench.redis.waiting.isEmpty)
            bench.loop.advance(milliseconds: 1)
        }
    }

    @Test func nextReadingWaitsForTheAnswer() {
        gauges.update()
        bench.loop.advance(milliseconds: 60_000)
        gauges.update()
        #expect(bench.redis.names == ["fleet"])
        bench.redis.refuse()
        gauges.update()
        #expect(bench.redis.names == ["fleet", "fleet"])
    }

    @Test func answerOfRedisIsInTheGauges() {
        answerFleet([
            "left": .integer(30), "entries": .integer(30), "oldest_ms": .integer(1_500), "rate": .text("2.5"),
            "quota": .integer(60), "hold_ms": .integer(2_000), "active": .text("a b"), "block": .text("refused"),
            "unreachable": .text("FCM"), "pressure": .text("results"), "dead": .integer(-1),
        ])
        #expect(value("fanfare_recipients_waiting") == "30")
        #expect(value("fanfare_oldest_wait_seconds") == "1.5")
        #expect(value("fanfare_permit_rate") == "2.5")
        #expect(value("fanfare_dead_jobs") == "0", "a count is not negative")
        #expect(gauges.isAnythingWaiting)
    }

    @Test func answerThatIsNoMapChangesNothing() {
        answerFleet(["left": .integer(3)])
        bench.loop.advance(milliseconds: 5_000)
        gauges.update()
        bench.redis.answer(.status("OK"))
        #expect(value("fanfare_recipients_waiting") == "3" && gauges.isAnythingWaiting)
    }

    // MARK: The state

    private var state: String { gauges.status().state }

    @Test func stateNamesWhatStopsSends() {
        bench.context.machine.gate.newsCame(askedNs: bench.loop.now)
        bench.context.machine.gate.resources.leaseHolds = true
        #expect(gauges.status() == .init(id: "p", canSend: true, holdsLease: true, state: "ready"))
        credential.state = .pending
        #expect(state == SendGate.Reason.credentialPending.description && !gauges.status().canSend)
        let failure = Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: "revoked")
        credential.state = .failed(failure)
        #expect(state == SendGate.Reason.credentialFailed(failure).description)
        bench.context.machine.gate.pauseReason = "by hand"
        #expect(state == SendGate.Reason.paused("by hand").description)
        bench.context.machine.gate.block("403", now: 0)
        #expect(state == SendGate.Reason.blocked("403").description)
    }

    @Test func drainingProjectHoldsNoLease() {
        #expect(gauges.status().holdsLease)
        bench.runner.drain()
        #expect(!gauges.status().holdsLease)
    }

    @Test func closedProjectHoldsNothing() {
        _ = gauges.status()
        gauges.update()
        #expect(value("fanfare_credentials_ready") == "1")
        gauges.close()
        #expect(value("fanfare_credentials_ready") == "0")
    }
}
