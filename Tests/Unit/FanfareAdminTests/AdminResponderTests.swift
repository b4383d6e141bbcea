import FanfareConfiguration
import FanfareHTTP
import FanfareJSON
import FanfareMetrics
import FanfareModel
import Testing

@testable import FanfareAdmin

@Suite struct AdminResponderTests {
    private static func responder(
        token: String? = nil,
        checksHost: Bool = false,
        isGood: Bool = true
    ) -> AdminResponder {
        let registry = MetricRegistry()
        registry.counter(MetricCatalogue.redisErrors).add()
        return AdminResponder(
            probes: AdminProbes(
                registry: registry,
                health: { AdminReport(isGood: isGood, details: ["turned_ms_ago": .string("3")]) },
                readiness: { AdminReport(isGood: isGood, details: ["redis": .string("10.0.0.7 refuses")]) }
            ),
            bearer: BearerCheck(token.map { [BearerToken($0)] } ?? []),
            checksHost: checksHost
        )
    }

    private static func ask(
        _ path: String,
        method: String = "GET",
        host: String? = nil,
        auth: String? = nil
    ) -> WebRequest {
        var request = WebRequest(method: method, path: path)
        request.headers["host"] = host
        request.headers["authorization"] = auth
        return request
    }

    @Test func metricsHaveTheirContentType() {
        let answer = Self.responder().answer(Self.ask("/metrics"))
        #expect(answer.status == 200 && answer.type == "text/plain; version=0.0.4; charset=utf-8")
        #expect(answer.text.hasSuffix("\nfanfare_redis_errors_total 1\n"))
    }

    @Test func probesShowTheirDetails() {
        let good = Self.responder().answer(Self.ask("/readyz"))
        #expect(good.status == 200 && good.text == #"{"status":"ready","redis":"10.0.0.7 refuses"}"# + "\n")
        let bad = Self.responder(isGood: false)
        #expect(bad.answer(Self.ask("/readyz")).status == 503)
        let stalled = bad.answer(Self.ask("/healthz"))
        #expect(stalled.status == 503 && stalled.text == #"{"status":"stalled","turned_ms_ago":"3"}"# + "\n")
    }

    @Test(arguments: [nil, "", "Bearer", "Bearer ", "Bearer secre", "Bearer secretsecret", "Basic secret", "secret"])
    func requestWithoutTheTokenGetsNoDetails(_ authorization: String?) {
        let responder = Self.responder(token: "secret", isGood: false)
        for path in ["/metrics", "/", "/config"] {
            let answer = responder.answer(Self.ask(path, auth: authorization))
            #expect(answer.status == 401 && answer["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
            #expect(!answer.text.contains("fanfare_redis_errors_total"))
        }
        let probe = responder.answer(Self.ask("/readyz", auth: authorization))
        #expect(probe.status == 503 && probe.text == "{\"status\":\"unavailable\"}\n")
    }

    @Test(arguments: ["Bearer secret", "bearer secret", "BEARER secret"])
    func requestWithTheTokenGetsEverything(_ authorization: String) {
        let responder = Self.responder(token: "secret")
        #expect(responder.answer(Self.ask("/metrics", auth: authorization)).status == 200)
        #expect(responder.answer(Self.ask("/readyz", auth: authorization)).text.contains("10.0.0.7"))
        #expect(responder.answer(Self.ask("/config", auth: authorization)).status == 404)
    }

    @Test func emptyTokenAcceptsNothing() {
        #expect(!BearerToken("").accepts(authorization: "Bearer "))
        #expect(!BearerToken("").accepts(authorization: nil))
    }

    @Test func tokenIsNotPrinted() {
        let token = BearerToken("very-secret")
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] { #expect(!text.contains("very-secret")) }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "TRACE"])
    func otherMethodsGet405(_ method: String) {
        for path in ["/metrics", "/healthz", "/readyz"] {
            let answer = Self.responder().answer(Self.ask(path, method: method))
            #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD")
        }
    }

    @Test(arguments: ["localhost", "LOCALHOST:9464", "127.0.0.1:9464", "127.9.9.9", "[::1]:9464", "[::1]"])
    func localHostIsAccepted(_ host: String) {
        #expect(Self.responder(checksHost: true).answer(Self.ask("/metrics", host: host)).status == 200)
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "[::1", "", "127.1"])
    func foreignHostIsRefused(_ host: String) {
        for path in ["/metrics", "/readyz", "/"] {
            #expect(Self.responder(checksHost: true).answer(Self.ask(path, host: host)).status == 403)
        }
        #expect(Self.responder(checksHost: false).answer(Self.ask("/metrics", host: host)).status == 200)
    }

    @Test func localAddressesAreRecognized() {
        for host in ["127.0.0.1", "localhost", "::1", "127.255.0.1"] {
            #expect(ListenAddress.tcp(host: host, port: 1).isLocal)
        }
        for host in ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "127.0.0", "localhost.example"] {
            #expect(!ListenAddress.tcp(host: host, port: 1).isLocal)
        }
        #expect(ListenAddress.unix(path: "/run/fanfare/admin.sock").isLocal)
        #expect(ListenAddress.tcp(host: "::1", port: 9).description == "[::1]:9")
    }
}

extension WebReply {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }

    fileprivate subscript(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
