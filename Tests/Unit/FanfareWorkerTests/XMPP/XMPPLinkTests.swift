import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FCMWire
@testable import FanfareCore
@testable import FanfareWorker
@testable import XMPPTransport

/// What the link asks and tells Redis for a pool, whose callbacks the test calls.
@Suite struct XMPPLinkTests {
    private final class Answers { var granted: [Bool] = [] }

    private let bench: DriverBench
    private let pool: XMPPPool
    private let credential: ServerKeyCredential
    private let link: XMPPLink
    private let answers = Answers()

    init() throws {
        bench = try DriverBench()
        let configuration = XMPPConfiguration(host: "localhost", port: 1, senderID: "1", serverKey: "key")
        pool = XMPPPool(loop: bench.loop, configuration: configuration)
        // It opens no connection of its own.
        pool.close()
        credential = ServerKeyCredential(bench.context.project)
        link = XMPPLink(project: bench.context, pool: pool, credential: credential)
    }

    private func request() { pool.authorizeConnection { [answers] in answers.granted.append($0) } }

    /// The arguments of the calls that wait for their answer: the worker, its connections, and whether it wants one more.
    private var calls: [[String]] { bench.redis.waiting.filter { $0.name == "connect" }.map(\.arguments) }

    // MARK: Permission

    @Test func connectionIsOpenedOnceRedisGrantsIt() {
        request()
        #expect(calls == [[DriverBench.name, "0", "1"]] && answers.granted == [])
        bench.redis.answer(.integer(0))
        #expect(answers.granted == [true])
    }

    /// Redis has counted it with the permission.
    @Test func grantedConnectionIsNotReportedAgain() {
        request()
        bench.redis.answer(.integer(0))
        pool.onConnections(1)
        bench.loop.advance(milliseconds: 5_000)
        #expect(calls == [])
        pool.onConnections(2)
        #expect(calls == [[DriverBench.name, "2", "0"]])
    }

    @Test(arguments: [(200, 200), (60_000, 1_000)] as [(Int64, Int64)])
    func waitOfRedisIsOverAfterASecondAtMost(_ asked: Int64, _ ms: Int64) {
        request()
        bench.redis.answer(.integer(asked))
        bench.loop.advance(milliseconds: ms - 1)
        #expect(calls == [])
        bench.loop.advance(milliseconds: 1)
        #expect(calls.filter { $0[2] == "1" }.count == 1 && answers.granted == [])
    }

    @Test func errorIsARefusal() {
        request()
        bench.redis.refuse()
        #expect(answers.granted == [false])
    }

    /// A refusal would cost the pool a pause of seconds.
    @Test func requestSurvivesALostConnection() {
        request()
        bench.redis.lose()
        bench.loop.advance(milliseconds: 10_000)
        #expect(answers.granted == [] && bench.redis.namesWhileAway == [])
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 50)
        #expect(calls.contains([DriverBench.name, "0", "1"]))
        bench.redis.serve { _ in .integer(0) }
        #expect(answers.granted == [true])
    }

    @Test func requestWaitsForTheLease() {
        bench.leases.hold("p", until: 0)
        request()
        bench.loop.advance(milliseconds: 10_000)
        #expect(calls == [] && answers.granted == [])
        bench.leases.hold("p", until: .max)
        bench.loop.advance(milliseconds: 50)
        #expect(calls.contains([DriverBench.name, "0", "1"]))
    }

    @Test func drainingWorkerOpensNoConnection() {
        bench.runner.drain()
        request()
        #expect(answers.granted == [false] && calls == [])
    }

    // MARK: The report

    @Test func numberOfConnectionsIsReportedAtEachChange() {
        pool.onConnections(2)
        pool.onConnections(3)
        #expect(calls == [[DriverBench.name, "2", "0"]], "one report is in flight")
        bench.redis.answer(.integer(0))
        #expect(calls == [[DriverBench.name, "3", "0"]])
        bench.redis.answer(.integer(0))
        bench.loop.advance(milliseconds: 10_000)
        #expect(calls == [])
    }

    /// Without a lease in Redis nothing was written.
    @Test(arguments: [RedisValue.integer(1), nil]) func reportThatWasNotTakenIsRepeated(_ answer: RedisValue?) {
        pool.onConnections(2)
        if let answer { bench.redis.answer(answer) } else { bench.redis.refuse() }
        #expect(calls == [])
        bench.loop.advance(milliseconds: 1_000)
        #expect(calls == [[DriverBench.name, "2", "0"]])
    }

    /// A new lease begins with no connections, and a restarted server may have lost their number.
    @Test(arguments: ["lease", "connection"]) func numberIsReportedAgainWithANew(_ what: String) {
        pool.onConnections(2)
        bench.redis.answer(.integer(0))
        if what == "lease" {
            bench.leases.lost("p")
            bench.leases.hold("p", until: .max)
        } else {
            bench.context.connectionChanged()
        }
        bench.loop.advance(milliseconds: 1_000)
        #expect(calls == [[what == "lease" ? "w.0.2" : DriverBench.name, "2", "0"]])
    }

    // MARK: What the pool reports

    @Test func refusedKeyStopsSendsUntilAConnectionIsAccepted() {
        pool.onRefusedCredential("not-authorized")
        guard case .failed(let failure) = credential.readiness() else {
            Issue.record("still ready")
            return
        }
        #expect(failure.action == .fixCredentials && failure.rawError == "not-authorized")
        for _ in 0..<2 { pool.onReady() }
        #expect(credential.readiness() == .ready)
        #expect(bench.heard.lines.map(\.level) == [.error, .notice])
    }

    @Test func incidentsAreCountedBetweenTheirLines() {
        pool.onIncidents(.strayError("bad-request"), 2)
        pool.onIncidents(.unknownControl("X"), 3)
        bench.loop.advance(milliseconds: 10_000)
        pool.onIncidents(.unknownControl("Y"), 4)
        #expect(bench.heard.metadata.map { $0["count"] } == ["2", "7"])
        #expect(bench.heard.metadata.last?["problem"].map { "\($0)".contains("Y") } == true)
    }

    @Test func problemOfAConnectionIsLogged() {
        pool.onWarning("the server has no STARTTLS")
        #expect(bench.heard.lines.map(\.level) == [.warning])
        #expect(bench.heard.metadata.first == ["problem": "the server has no STARTTLS"])
    }

    @Test func messageOfADeviceIsWritten() {
        let incoming = XMPPIncoming(kind: .message, from: "t", category: "", messageID: "m", data: [])
        pool.onIncoming(incoming, XMPPReply(acknowledge: {}, giveBack: {}))
        #expect(bench.redis.names == ["XADD"])
    }
}
