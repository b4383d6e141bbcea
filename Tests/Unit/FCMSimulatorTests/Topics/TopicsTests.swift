import FanfareJSON
import Testing

@testable import FCMSimulator

/// The topics alone: subscriptions, rates and recipients.
@Suite struct TopicsTests {
    @Test func `a project is limited to 3,000 operations a second`() {
        var topics = Topics()
        #expect(topics.admit(2_999, project: "a", nowMs: 0) == 2_999)
        #expect(topics.admit(2, project: "a", nowMs: 999) == 1)
        #expect(topics.admit(1, project: "b", nowMs: 999) == 1)
        #expect(topics.admit(2, project: "a", nowMs: 1_000) == 2)
    }

    @Test(arguments: [
        ("sbx-unregistered-1", false, DeviceFailure.unregistered), ("t", true, .unregistered),
        ("not a token", false, .invalid), ("sbx-invalid-1", false, .invalid), ("sbx-mismatch-1", false, .mismatch),
        ("sbx-auth-1", false, .auth), ("sbx-internal-1-x", false, .retryable(.internalError)),
        ("sbx-devicerate-1-x", false, .retryable(.quota)),
    ])
    func `a token is refused by its prefix and its registration`(
        token: String,
        isGone: Bool,
        failure: DeviceFailure
    ) {
        var topics = Topics()
        #expect(topics.failure(of: token, isGone: isGone) == failure)
    }

    @Test func `a refusal has a word for each of the three APIs`() {
        let table: [(DeviceFailure, String, Int, Int)] = [
            (.invalid, "INVALID_ARGUMENT", 400, 400), (.unregistered, "NOT_FOUND", 404, 404),
            (.mismatch, "PERMISSION_DENIED", 403, 403), (.auth, "PERMISSION_DENIED", 401, 403),
            (.retryable(.unavailable), "DEADLINE_EXCEEDED", 503, 500),
            (.retryable(.internalError), "INTERNAL", 500, 500), (.retryable(.quota), "RESOURCE_EXHAUSTED", 429, 429),
            (.retryable(.deviceRate), "RESOURCE_EXHAUSTED", 429, 429),
        ]
        for (failure, word, v1, info) in table {
            #expect(failure.topicWord == word)
            #expect(failure.apiError(token: "t", field: "name").status.code == v1, "\(failure)")
            #expect(failure.infoError.status == info, "\(failure)")
        }
    }

    @Test func `a condition counts named and anonymous subscribers, and a negation the described devices`() throws {
        var topics = Topics()
        var devices = Devices()
        for token in ["a", "b"] { #expect(devices.put(token, Devices.Device()) == true) }
        try topics.subscriptions.subscribe("a", to: "news", nowMs: nil)
        #expect(topics.subscriptions.addAnonymous(10, to: "sport") == true)
        let either = try #require(Condition("'news' in topics || 'sport' in topics"))
        #expect(topics.recipientCount(.condition(either), devices: devices) == 11)
        let negation = try #require(Condition("!('news' in topics)"))
        #expect(topics.recipientCount(.condition(negation), devices: devices) == 11)
        #expect(topics.tokens(.condition(negation), devices: devices) == ["b"])
        #expect(topics.tokens(.topic("news"), devices: devices) == ["a"])
    }

    @Test func `a renamed token keeps its topics, and replaced topics end`() throws {
        var topics = Topics()
        try topics.replaceTopics(of: "old", with: ["a", "b"])
        try topics.replaceTopics(of: "old", with: ["b", "c"])
        try topics.rename("old", to: "new")
        #expect(topics.subscriptions.topics(of: "old").isEmpty)
        #expect(topics.subscriptions.topics(of: "new") == ["b", "c"])
    }

    @Test func `HTTP v1 creates a subscription once and finds no other`() throws {
        var topics = Topics()
        func request(_ operation: SubscriptionRequest.Operation) -> SubscriptionRequest {
            SubscriptionRequest(registration: "t", operation: operation)
        }
        #expect(throws: APIError.subscriptionNotFound) {
            try topics.perform(request(.get(topic: "news")), project: "p", nowMs: 0)
        }
        let made = try topics.perform(request(.create(topic: "news")), project: "p", nowMs: 0)
        #expect(made["createTime"] == "1970-01-01T00:00:00.000Z")
        #expect(throws: APIError.subscriptionExists) {
            try topics.perform(request(.create(topic: "news")), project: "p", nowMs: 0)
        }
        _ = try topics.perform(request(.delete(topic: "news", allowMissing: false)), project: "p", nowMs: 0)
        #expect(topics.subscriptions.topics(of: "t").isEmpty)
    }

    @Test func `a topic's name refuses N sends`() {
        var topics = Topics()
        #expect((0..<3).map { _ in topics.refusesSend(to: "sbx-topicrate-2-x") } == [true, true, false])
        #expect(topics.refusesSend(to: "news") == false)
    }
}
