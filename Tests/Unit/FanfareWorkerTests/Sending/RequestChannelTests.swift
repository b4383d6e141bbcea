import FanfareModel
import HTTPLanes
import Testing

@testable import EventLoop
@testable import FCMWire
@testable import FanfareWorker
@testable import XMPPTransport

/// Channels that never get a connection: what they take, and how they end.
@Suite struct RequestChannelTests {
    private final class Outcomes { var all: [(tag: Int, outcome: RequestOutcome)] = [] }

    private let loop: EventLoop
    private let outcomes = Outcomes()

    init() throws { loop = try EventLoop() }

    /// Sends two requests, and closes the channel before anything has left.
    private func sendAndClose(_ channel: any RequestChannel, _ route: Route) {
        channel.onCompletion = { [outcomes] tag, outcome in outcomes.all.append((tag, outcome)) }
        #expect(channel.freeSlots >= 2 && channel.openConnections == 0)
        let free = channel.freeSlots
        for tag in [4, 5] { channel.send(tag: tag, WireRequest(route, body: [1])) }
        #expect(channel.freeSlots == free - 2 && outcomes.all.isEmpty)
        channel.close()
        #expect(channel.freeSlots == 0)
    }

    private func expectUnsent() {
        #expect(outcomes.all.map(\.tag) == [4, 5])
        for (_, outcome) in outcomes.all {
            guard case .unsent = outcome else {
                Issue.record("\(outcome)")
                continue
            }
        }
    }

    @Test(arguments: [HTTPEngine.curl, .nghttp2]) func closedLanesAnswerEachRequestAsUnsent(_ engine: HTTPEngine) {
        var settings = LaneChannel.Settings()
        settings.engine = engine
        settings.origin = "https://localhost:1/"
        settings.sendPath = "/send"
        settings.timeoutMs = 1_000
        let channel = LaneChannel(
            settings,
            OriginConfiguration(),
            FakeCredential(),
            loop: loop,
            group: PoolGroup(),
            mayBegin: { true }
        )
        sendAndClose(channel, .fcm)
        expectUnsent()
    }

    @Test func closedXMPPConnectionsAnswerEachMessageAsUnsent() {
        let configuration = XMPPConfiguration(host: "localhost", port: 1, senderID: "1", serverKey: "key")
        let pool = XMPPPool(loop: loop, configuration: configuration)
        // Redis never permits the connection.
        pool.authorizeConnection = { _ in }
        sendAndClose(XMPPChannel(pool), .xmpp)
        expectUnsent()
    }

    @Test func closedTokenEndpointsAnswerTheRequestAsUnsent() throws {
        let file = #"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}"#
        var exchange = TokenExchange(try Credential.parse(Array(file.utf8)), nowSeconds: 0)
        guard case .send(let call) = exchange.start() else {
            Issue.record("no request")
            return
        }
        let endpoints = TokenEndpoints(loop: loop, origin: OriginConfiguration(), pools: PoolGroup())
        endpoints.onCompletion = { [outcomes] in outcomes.all.append((0, $0)) }
        endpoints.send(call, timeoutMs: 1_000)
        #expect(outcomes.all.isEmpty)
        endpoints.close()
        guard case .unsent = outcomes.all.first?.outcome else {
            Issue.record("\(outcomes.all)")
            return
        }
    }

    @Test func tokensAreSmallAnswersOverFewConnections() {
        var origin = OriginConfiguration(proxy: HTTPProxy(address: "http://proxy:3128"))
        origin.maximumLanes = 32
        let tokens = origin.forTokens(isPlain: false)
        #expect(tokens.maximumLanes == TokenConnections.maximum && tokens.maximumBodyBytes == Credential.maximumBytes)
        #expect(tokens.proxy == origin.proxy && !tokens.allowsPlainHTTP)
        let plain = origin.forTokens(isPlain: true)
        #expect(plain.proxy == nil && plain.allowsPlainHTTP)
    }
}
