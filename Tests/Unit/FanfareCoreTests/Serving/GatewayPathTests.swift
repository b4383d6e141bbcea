import FanfareCore
import Testing

@Suite struct GatewayPathTests {
    @Test(
        arguments: [
            ("/v1/projects/p/messages:send", .v1(project: "p")), ("/v1/projects/p/messages%3Asend", .v1(project: "p")),
            ("//v1/projects/p%20q/messages:send", .v1(project: "p q")), ("/fcm/send", .legacy), ("/gcm/send", .legacy),
            ("/token", .token), ("/fcm/notification", .management(.groups)),
            ("/v1/projects/p/jobs", .own(.jobs(project: "p"))), ("/openapi.json", .own(.document)),
            ("/v1/projects/p/audiences/a", .own(.audience(project: "p", name: "a"))),
            ("/v1/projects/p/jobs/messages:send", .own(.job(project: "p", id: "messages:send"))),
            ("/x/messages:send", .other), ("/v1/projects/p/x/messages:send", .other),
            ("/v1/projects/%ff/messages:send", .other),
            ("/v1/projects/p/messages:sendAll", .other), ("/fcm/send/", .other), ("/", .other), ("", .other),
        ] as [(String, GatewayPath)]
    )
    func pathBelongsToOneAPI(path: String, expected: GatewayPath) { #expect(GatewayPath(path) == expected) }

    @Test func ownPathIsCountedAsOwn() {
        #expect(GatewayPath("/v1/projects/p/jobs/messages:send").api == "own")
        #expect(GatewayPath("/v1/projects/p/messages%3Asend").api == "v1")
        #expect(GatewayPath("/v1/projects/p/x").api == "other")
    }
}
