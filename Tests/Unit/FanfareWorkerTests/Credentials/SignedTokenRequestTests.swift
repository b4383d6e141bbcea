import FCMWire
import FanfareModel
import Logging
import OpenSSLKit
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// Requests for tokens that a service account's key signs, by the right time.
@Suite struct SignedTokenRequestTests {
    private let bench: DriverBench
    private let endpoints = FakeEndpoints()
    private let refresher: TokenRefresher

    /// Some 100 ms of CPU: one key serves all tests.
    private static let pem = Result { try RS256Signer.generate().privateKeyPEM() }

    init() throws {
        bench = try DriverBench()
        let key = try Self.pem.get().replacing("\n", with: "\\n")
        let file = """
            {"type":"service_account","private_key":"\(key)","project_id":"p","client_email":"c@p.example",
            "token_uri":"https://localhost:1/token"}
            """
        let loop = bench.loop
        refresher = try TokenRefresher(
            project: bench.context,
            credential: try Credential.parse(Array(file.utf8)),
            endpoints: endpoints,
            nowMs: { Int64(loop.now / 1_000_000) }
        )
        refresher.start()
    }

    private static let refusedTime = #"{"error":"invalid_grant","error_description":"Check your iat and exp values."}"#

    /// The endpoint refuses the signed time, and says that it is so many hours later there.
    private func refuseTime(hoursAhead: Int64) {
        let date = HTTPDate.text(unixMs: SystemClock.nowMs + hoursAhead * 3_600_000)
        endpoints.answer(400, Self.refusedTime, date: date)
    }

    private var condition: Reachability.Condition? {
        bench.context.reachability.condition(of: .tokenEndpoint, now: bench.loop.now)
    }

    @Test func requestCarriesASignedAssertion() {
        #expect(endpoints.calls.map(\.endpoint) == [.assertion])
        #expect(endpoints.calls.first?.url == "https://localhost:1/token")
        let body = endpoints.calls.first.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
        #expect(body.contains("assertion=ey"))
        endpoints.grant("first")
        #expect(refresher.readiness() == .ready && refresher.projectID == "p")
    }

    @Test func refusedTimeIsSignedAgainByTheEndpointsClock() {
        refuseTime(hoursAhead: 2)
        #expect(endpoints.calls.count == 2, "at once")
        #expect(bench.heard.lines.last?.level == .warning)
        let aheadMs = bench.heard.metadata.last?["ahead_ms"].flatMap { Int64("\($0)") } ?? 0
        #expect((-7_205_000 ... -7_195_000).contains(aheadMs), "\(aheadMs)")
        endpoints.grant("first")
        #expect(refresher.readiness() == .ready)
    }

    /// Another worker's clock may be right: the project is not blocked.
    @Test func clockThatIsNotTheCauseIsThisWorkersCondition() {
        refuseTime(hoursAhead: 0)
        #expect(endpoints.calls.count == 1)
        #expect(refresher.isStuck && refresher.readiness() == .pending)
        #expect(bench.heard.messages.last == "This worker gets no access token, so it sends nothing.")
        bench.loop.advance(milliseconds: 6_000)
        #expect(endpoints.calls.count == 2)
        refuseTime(hoursAhead: 0)
        #expect(condition?.service == .tokenEndpoint, "answers do not end it")
        bench.loop.advance(milliseconds: 10_000)
        endpoints.grant("first")
        #expect(condition == nil && refresher.readiness() == .ready)
    }

    @Test func correctionsThatDoNotHelpEnd() {
        for hours in [2, 4, 6, 8] as [Int64] { refuseTime(hoursAhead: hours) }
        #expect(endpoints.calls.count == 3, "two corrections")
        #expect(refresher.isStuck)
    }
}
