import FanfareClient
import FanfareHTTP
import FanfareModel
import Logging
import StreamWire
import Synchronization
import Testing

@testable import FanfareDashboard

/// Wrong tokens are counted and logged, and never lock out the right one.
@Suite struct WrongTokenTests {
    private static let token = "a-token-of-some-length"

    private struct NoRedis: RedisSending {
        func reply(to command: RedisCommand) async throws -> RedisValue { .null }
    }

    /// Records each line with its peer.
    private final class RecordingLog: LogHandler {
        let lines = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .info }
            set {}
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            lines.withLock { $0.append("\(event.metadata?["peer"] ?? "-"): \(event.message)") }
        }
    }

    @Test func wrongTokensOfAllPathsCountTogether() async {
        let log = RecordingLog()
        let logger = Logger(label: "test") { _ in log }
        var options = DashboardOptions()
        options.token = Self.token
        let routes = DashboardRoutes(
            options: options,
            hub: FleetHub(maximumBrowsers: 1),
            redis: NoRedis(),
            logger: logger,
            explain: { "\($0)" },
            sessions: Sessions(logger: logger),
            now: { .zero }
        )
        func status(_ token: String, login: Bool) async -> Int {
            var request = WebRequest(method: "GET", path: "/api/fleet", headers: ["host": "localhost"])
            request.peer = "192.0.2.7"
            if login {
                request.method = "POST"
                request.path = "/login"
                request.headers.merge(["x-fanfare-request": "1", "content-type": "application/json"]) { $1 }
                request.body = Array(#"{"token":"\#(token)"}"#.utf8)
            } else {
                request.headers["authorization"] = "Bearer \(token)"
            }
            return await routes.answer(request).status
        }
        for index in 0..<14 {
            let answer = await status("wrong", login: index % 2 == 0)
            #expect(answer == (index < 10 ? 401 : 429))
        }
        let single = "192.0.2.7: The dashboard refused a wrong token."
        let last = "192.0.2.7: The dashboard refused too many wrong tokens; it logs no more of them for a minute."
        #expect(log.lines.withLock { $0 } == Array(repeating: single, count: 10) + [last])
        let (login, fleet) = (await status(Self.token, login: true), await status(Self.token, login: false))
        // There is no picture yet, but the request is authenticated.
        #expect(login == 200 && fleet == 503)
    }

    @Test func rightTokenIsAcceptedAfterManyWrongOnes() async throws {
        try await withDashboard({ $0.token = Self.token }) { bench in
            for _ in 0..<10 {
                let answer = try await bench.web.post("/login", #"{"token":"x"}"#)
                #expect(answer.status == 401)
            }
            let refused = try await bench.web.post("/login", #"{"token":"x"}"#)
            #expect(refused.status == 429 && refused.headers["retry-after"] == "60")
            let right = try await bench.web.post("/login", #"{"token":"\#(Self.token)"}"#)
            #expect(right.status == 200)
        }
    }
}
