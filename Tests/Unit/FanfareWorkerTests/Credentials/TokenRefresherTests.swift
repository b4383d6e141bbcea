import FCMWire
import FanfareCore
import FanfareModel
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// When access tokens are fetched, and what each answer of the endpoint leads to.
@Suite struct TokenRefresherTests {
    private static let file = """
        {"type":"authorized_user","client_id":"client","client_secret":"SECRET-client","refresh_token":"SECRET-refresh",
        "universe_domain":"googleapis.com"}
        """

    private let bench: DriverBench
    private let endpoints = FakeEndpoints()
    private let refresher: TokenRefresher
    private let changes = Changes()

    private final class Changes { var count = 0 }

    init() throws {
        bench = try DriverBench()
        let loop = bench.loop
        refresher = try TokenRefresher(
            project: bench.context,
            credential: try Credential.parse(Array(Self.file.utf8)),
            endpoints: endpoints,
            nowMs: { Int64(loop.now / 1_000_000) }
        )
        refresher.onChange = { [changes] in changes.count += 1 }
    }

    /// Seconds until the next request is sent, at most two hours.
    private func waitForRequest() -> Int? {
        let before = endpoints.calls.count
        return (1...7_200).first { _ in
            bench.loop.advance(milliseconds: 1_000)
            return endpoints.calls.count > before
        }
    }

    private var isReady: Bool { refresher.readiness() == .ready }

    @Test func oneRequestIsInFlightUntilItsAnswer() {
        #expect(endpoints.calls.isEmpty)
        refresher.start()
        #expect(endpoints.calls.map(\.endpoint) == [.refresh])
        #expect(waitForRequest() == nil)
        #expect(refresher.readiness() == .pending && !refresher.isStuck)
        #expect(changes.count == 0)
    }

    @Test func grantedTokenIsInTheHeadersOfSends() {
        refresher.start()
        endpoints.grant("first")
        #expect(isReady && refresher.generation == 1 && refresher.isFresh)
        #expect(refresher.headers.json.first == "Authorization: Bearer first")
        #expect(changes.count == 1)
    }

    @Test func tokenIsRenewedFiveMinutesBeforeItsEnd() {
        refresher.start()
        endpoints.grant("first")
        #expect(waitForRequest() == 3_300)
        #expect(isReady, "sends continue with the old token")
        #expect(refresher.headers.json.first == "Authorization: Bearer first")
        endpoints.grant("second")
        #expect(refresher.generation == 2)
        #expect(refresher.headers.json.first == "Authorization: Bearer second")
    }

    /// Another credential's exchange.
    private func begin() -> Int? {
        bench.context.tokenConnections.begin(nowMs: Int64(bench.loop.now / 1_000_000), room: nil)
    }

    @Test func exchangeWaitsWhileTooManyAreInFlight() {
        let others = (0..<TokenConnections.maximum).map { _ in begin() }
        refresher.start()
        #expect(endpoints.calls.isEmpty)
        #expect(refresher.readiness() == .pending)
        if let other = others[0] { bench.context.tokenConnections.end(other) }
        #expect(endpoints.calls.count == 1)
        endpoints.grant("first")
        #expect(begin() != nil, "its exchange has ended")
    }

    @Test func closedCredentialBeginsNoExchange() {
        let others = (0..<TokenConnections.maximum).map { _ in begin() }
        refresher.start()
        refresher.close()
        if let other = others[0] { bench.context.tokenConnections.end(other) }
        #expect(endpoints.calls.isEmpty)
    }

    @Test func slowExchangesKeepNoOtherOneBack() {
        for _ in 0..<TokenConnections.maximum { _ = begin() }
        refresher.start()
        #expect(endpoints.calls.isEmpty)
        #expect((1...2).contains(waitForRequest() ?? 0))
    }

    @Test func silentEndpointIsAskedAgainAtGrowingIntervals() {
        refresher.start()
        for expected in [1...1, 2...2, 3...4, 6...8] {
            endpoints.onCompletion(.unsent(reason: "no connection"))
            #expect(refresher.isStuck && refresher.readiness() == .pending)
            #expect(waitForRequest().map { expected.contains($0) } == true)
        }
        #expect(changes.count == 4)
    }

    @Test func endpointThatAsksForAPauseGetsIt() {
        refresher.start()
        endpoints.answer(503, "", retryAfter: "120")
        #expect(waitForRequest() == 120)
    }

    @Test func refusedCredentialIsTriedAgainOnlyForTheProbe() {
        refresher.start()
        endpoints.answer(400, #"{"error":"invalid_grant"}"#)
        guard case .failed(let failure) = refresher.readiness() else {
            Issue.record("not refused")
            return
        }
        #expect(failure.error == .thirdPartyAuthError)
        #expect(!failure.rawError.contains("SECRET"))
        #expect(waitForRequest() == nil)
        refresher.retryFailed()
        #expect(waitForRequest() == 1)
        endpoints.grant("first")
        #expect(isReady)
    }

    @Test func tokenThatFCMRefusesIsReplaced() {
        refresher.start()
        endpoints.grant("first")
        refresher.refused(0)
        #expect(isReady, "an earlier token was meant")
        refresher.refused(1)
        #expect(refresher.readiness() == .pending)
        #expect(waitForRequest() == 10)
        endpoints.grant("second")
        #expect(isReady && refresher.generation == 2)
    }

    /// Another API refused the token: sends continue with it.
    @Test func renewalKeepsTheTokenInUse() {
        refresher.start()
        endpoints.grant("first")
        refresher.renew(1)
        #expect(isReady)
        #expect(waitForRequest() == 10)
        #expect(isReady)
    }

    @Test func unreadableAnswerIsNoToken() {
        refresher.start()
        endpoints.answer(200, "<html>")
        #expect(!isReady && refresher.generation == 0)
        #expect(waitForRequest() != nil)
    }

    @Test func closedProjectFetchesNothing() {
        refresher.start()
        endpoints.grant("first")
        refresher.close()
        bench.context.close()
        #expect(endpoints.isClosed)
        #expect(waitForRequest() == nil)
    }

    /// Sends would wait for the next token all the time.
    @Test func uselessLifetimeIsLoggedOnceAMinute() {
        refresher.start()
        for _ in 0..<2 {
            endpoints.grant("first", seconds: 0)
            #expect(waitForRequest() != nil)
        }
        #expect(bench.heard.messages.count { $0.contains("expires_in is unusable") } == 1)
    }
}
