import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// What the log, the heartbeat and Redis learn of a condition that stops a project's sends.
@Suite struct ConditionReporterTests {
    private let bench: DriverBench
    private let credential = FakeCredential()
    private let reporter: ConditionReporter

    init() throws {
        bench = try DriverBench()
        reporter = ConditionReporter(project: bench.context, credentials: credential)
        reporter.start()
    }

    private static let noRoute = RequestOutcome.unsent(reason: Reason(.connection, code: "libcurl 7", "No route"))

    /// Requests fail for so long that the service counts as unreachable. Commands of the time before are answered.
    private func lose(_ service: Reachability.Service, _ outcome: RequestOutcome = ConditionReporterTests.noRoute) {
        bench.context.observe(outcome, of: service)
        bench.loop.advance(milliseconds: 5_000)
        bench.context.observe(outcome, of: service)
        bench.redis.serve { _ in .status("OK") }
        _ = bench.redis.removeNames()
    }

    private func second(_ seconds: Int64 = 1) { bench.loop.advance(milliseconds: 1_000 * seconds) }
    private var reported: WorkerReport { bench.leases.report(in: "p") }

    // MARK: A service that cannot be reached

    @Test func outageIsLoggedOnceAMinuteAndWithItsEnd() {
        lose(.messages)
        second()
        #expect(bench.heard.lines.map(\.level) == [.warning])
        #expect(bench.heard.messages.first?.contains("cannot be reached: its sends wait") == true)
        #expect(bench.heard.metadata.first?["cause"] == "No route (libcurl 7)")
        second(59)
        #expect(bench.heard.messages.count == 1)
        second()
        #expect(bench.heard.messages.count == 2)
        bench.context.observe(.answered(HTTPAnswer(status: 200)), of: .messages)
        second()
        #expect(bench.heard.lines.last?.level == .notice)
        #expect(bench.heard.messages.last?.hasSuffix("answers again.") == true)
        #expect(bench.heard.metadata.last?["since"] == bench.heard.metadata.first?["since"])
    }

    @Test func outageThatIsForgottenIsNoRecovery() {
        lose(.messages)
        second(151)
        #expect(bench.heard.messages.last?.contains("was not tried for some time") == true)
    }

    @Test func heartbeatReportsTheOutageAndItsEnd() {
        lose(.messages)
        second()
        #expect(reported.unreachable?.cause == "No route (libcurl 7)" && !reported.isAnswering)
        bench.context.observe(.answered(HTTPAnswer(status: 200)), of: .messages)
        second()
        #expect(reported.unreachable == nil && reported.isAnswering)
    }

    /// Sends continue with the token that works; subscriptions are not sends.
    @Test func outageThatStopsNoSendIsOnlyLogged() {
        lose(.tokenEndpoint)
        lose(.management)
        second()
        #expect(bench.heard.messages.count == 2)
        #expect(reported.unreachable == nil)
        credential.isStuck = true
        second()
        #expect(reported.unreachable?.service == .tokenEndpoint)
    }

    // MARK: Redis

    /// The arguments of the call that waits for its answer.
    private var written: [String]? { bench.redis.waiting.first { $0.name == "write_reasons" }?.arguments }

    @Test func outageIsWrittenToRedisAtOnceAndEveryFiveSeconds() {
        lose(.messages)
        second()
        #expect(written?.first == DriverBench.name && written?.last == "")
        #expect(written?[1].contains(#""cause":"No route (libcurl 7)""#) == true)
        for _ in 0..<2 {
            bench.redis.serve { _ in .status("OK") }
            second(4)
            #expect(written == nil)
            second()
            #expect(written != nil)
        }
        second(60)
        #expect(bench.redis.names.count == 3, "one call is in flight")
    }

    @Test func endIsWrittenAtOnce() {
        lose(.messages)
        second()
        bench.redis.answer(.status("OK"))
        bench.context.observe(.answered(HTTPAnswer(status: 200)), of: .messages)
        second()
        #expect(written?[1].contains("outage") == false)
        bench.redis.answer(.status("OK"))
        second(59)
        #expect(written == nil)
        second()
        #expect(written != nil, "another worker may have died with its reasons")
    }

    @Test func failedCallIsRepeatedAfterFiveSeconds() {
        second()
        #expect(written != nil)
        bench.redis.refuse()
        second(4)
        #expect(written == nil)
        second()
        #expect(written != nil)
    }

    @Test(arguments: ["connection", "comparison"]) func nothingIsWrittenWithout(_ condition: String) {
        if condition == "connection" { bench.redis.lose() } else { bench.context.isReady = false }
        second(70)
        #expect(bench.redis.names == [] && bench.redis.namesWhileAway == [])
    }

    // MARK: Backpressure

    @Test func streamThatIsNotReadIsReportedUntilItIs() {
        bench.context.machine.gate.pressure = "results"
        second()
        #expect(bench.heard.lines.map(\.level) == [.warning])
        let cause = OverviewReply.text(ofPressure: "results") ?? ""
        #expect(bench.heard.metadata.first?["cause"] == "\(cause)")
        #expect(written?.last == cause)
        bench.redis.answer(.status("OK"))
        bench.context.machine.gate.pressure = nil
        second()
        #expect(bench.heard.messages.last == "Jobs are taken again.")
        #expect(written?.last == "")
    }

    /// All projects of a server share its memory.
    @Test(arguments: [true, false]) func memoryIsLoggedByTheFirstProject(_ isFirst: Bool) {
        bench.context.isFirst = isFirst
        bench.context.machine.gate.pressure = "memory"
        second()
        #expect(bench.heard.messages.count == (isFirst ? 1 : 0))
        #expect(written?.last == OverviewReply.text(ofPressure: "memory"))
    }

    @Test(arguments: [("OOM full", true), ("NOPERM no right", false)])
    func redisIsFullForFiveSecondsAfterARefusal(_ line: String, _ isFull: Bool) {
        reporter.refused(RedisError(reply: line))
        second()
        #expect(reported.isRedisFull == isFull)
        #expect(written?.last == (isFull ? OverviewReply.text(ofPressure: "memory") : ""))
        second(4)
        #expect(!reported.isRedisFull)
    }

    // MARK: Sentences

    @Test(arguments: Reachability.Service.allCases)
    func unreachableServiceNamesTheProxySetting(service: Reachability.Service) {
        let sentence = ConditionReporter.sentence(service, .connection, hasProxy: false)
        #expect(sentence.contains("set `proxy` (HTTPS_PROXY has no effect)"), "\(sentence)")
    }

    @Test func configuredProxyIsNoRemedy() {
        let sentence = ConditionReporter.sentence(.messages, .timeout, hasProxy: true)
        #expect(!sentence.contains("set `proxy`"), "\(sentence)")
        #expect(sentence.contains("the proxy."), "\(sentence)")
    }

    @Test func refusalOfTheProxyNamesItsUserInstead() {
        let sentence = ConditionReporter.sentence(.messages, .proxyLogin, hasProxy: true)
        #expect(sentence.contains("set proxy_user and proxy_password_file"), "\(sentence)")
        #expect(!sentence.contains("HTTPS_PROXY"), "\(sentence)")
    }

    @Test func limitOfOpenFilesIsNoRouteToCheck() {
        let sentence = ConditionReporter.sentence(.messages, .files, hasProxy: false)
        #expect(sentence.contains("too many open files") && !sentence.contains("Check"), "\(sentence)")
    }
}
