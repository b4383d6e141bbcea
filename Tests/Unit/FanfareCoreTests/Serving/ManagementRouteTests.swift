import Testing

@testable import FanfareCore

@Suite struct ManagementRouteTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var path: String
        var route: ManagementRoute?
        var methods: [String] = []

        var testDescription: String { path }
    }

    private static let list = "/v1/projects/demo/registrations/a:b/topicSubscriptions"

    static let rows = [
        Row(path: "/iid/v1:batchAdd", route: .batch(isAdding: true), methods: ["POST"]),
        Row(path: "/iid/v1%3AbatchRemove", route: .batch(isAdding: false), methods: ["POST"]),
        Row(
            path: "/iid/v1/a:b/rel/topics/news",
            route: .relation(token: "a:b", topic: "news"),
            methods: ["POST", "DELETE"]
        ),
        Row(path: "/iid/info/a%3Ab", route: .info(token: "a:b"), methods: ["GET"]),
        Row(path: "/iid/a:b", route: .info(token: "a:b"), methods: ["GET"]),
        Row(
            path: list,
            route: .subscriptions(project: "demo", registration: "a:b", topic: nil),
            methods: ["GET", "POST"]
        ),
        Row(
            path: list + "/a%2525",
            route: .subscriptions(project: "demo", registration: "a:b", topic: "a%25"),
            methods: ["GET", "DELETE"]
        ),
        Row(path: "/fcm/notification", route: .groups, methods: ["GET", "POST"]),
        Row(path: "/gcm/notification", route: .groups, methods: ["GET", "POST"]),
        Row(path: "", route: nil),
        Row(path: "/", route: nil),
        Row(path: "/iid", route: nil),
        Row(path: "/iid/", route: nil),
        Row(path: "/iid/info", route: nil),
        Row(path: "/iid/v1", route: nil),
        Row(path: "/iid/info/", route: nil),
        Row(path: "/iid/info/a/b", route: nil),
        Row(path: "/iid/info/%G1", route: nil),
        Row(path: "/iid/info/%FF", route: nil),
        Row(path: "/fcm/send", route: nil),
        Row(path: "/fcm/notification/", route: nil),
        Row(path: "/xcm/notification", route: nil),
        Row(path: "/iid/v1/a:b/rel/topic/news", route: nil),
        Row(path: list + "/", route: nil),
        Row(path: list + "/a/b", route: nil),
        Row(path: "/v1/projects/demo/messages:send", route: nil),
    ]

    @Test(arguments: rows) func pathIsReadWithItsEscapes(row: Row) {
        let route = ManagementRoute(path: row.path)
        #expect(route == row.route)
        #expect(route?.methods ?? [] == row.methods)
    }

    @Test func onlySubscriptionsNameTheirProject() {
        let named = Self.rows.compactMap(\.route).filter { $0.project != nil }
        #expect(named.count == 2)
        #expect(named.allSatisfy { $0.project == "demo" })
    }
}
