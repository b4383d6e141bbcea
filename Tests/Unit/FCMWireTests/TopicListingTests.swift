import FCMWire
import FanfareModel
import Testing

@Suite struct TopicListingTests {
    static func page(_ topics: [String], next: String? = nil) -> RequestOutcome {
        let views = topics.map {
            #"{"name":"projects/p/registrations/t/topicSubscriptions/\#($0)","topicName":"\#($0)"}"#
        }
        let more = next.map { #","nextPageToken":"\#($0)""# } ?? ""
        return answer(200, #"{"topicSubscriptions":[\#(views.joined(separator: ","))]\#(more)}"#)
    }

    static func path(_ listing: TopicListing) -> String? { listing.request(project: "p", token: "a:b")?.path }

    @Test func pagesAreReadToTheLast() throws {
        let start = "/v1/projects/p/registrations/a%3Ab/topicSubscriptions?pageSize=100"
        let first = TopicListing()
        #expect(Self.path(first) == start && first.request(project: "p", token: "t")?.method == .get)
        let second = try #require(first.continuation(after: Self.page(["a", "b"], next: "x/y")))
        #expect(Self.path(second) == start + "&pageToken=x%2Fy")
        // A page may be empty, and another one still follows.
        let third = try #require(second.continuation(after: answer(200, #"{"nextPageToken":"z"}"#)))
        #expect(third.continuation(after: Self.page(["c"])) == nil)
        #expect(third.verdict(Self.page(["c"]), nowMs: responseNow) == .listed(["a", "b", "c"]))
    }

    @Test func tokenWithoutTopicsIsASuccess() {
        #expect(TopicListing().verdict(answer(200, "{}"), nowMs: responseNow) == .listed([]))
    }

    @Test(arguments: [".", ".."]) func dotsAreNoSegment(name: String) {
        #expect(TopicListing().request(project: "p", token: name) == nil)
        #expect(TopicListing().request(project: name, token: "t") == nil)
    }

    /// FCM allows 2,000 topics: a server that names more, or never ends, has no result.
    @Test func endlessListFails() throws {
        var listing = TopicListing()
        for page in 0..<19 {
            let topics = (0..<100).map { "t\(page)-\($0)" }
            listing = try #require(listing.continuation(after: Self.page(topics, next: "n")))
        }
        let full = (0..<100).map { "last-\($0)" }
        guard case .listed(let topics) = listing.verdict(Self.page(full), nowMs: responseNow) else {
            Issue.record("2,000 topics are listed")
            return
        }
        #expect(topics.count == 2_000)
        let tooMany = Self.page(full + ["one"], next: "n")
        #expect(listing.continuation(after: tooMany) == nil)
        let expected = TopicBatchTests.failed(.unspecified, .none, "more than 2000 topics")
        #expect(listing.verdict(tooMany, nowMs: responseNow) == expected)

        listing = TopicListing()
        var pages = 1
        while let next = listing.continuation(after: Self.page([], next: "n")) { (listing, pages) = (next, pages + 1) }
        #expect(pages == 100)
        let endless = TopicBatchTests.failed(.unspecified, .none, "more than 100 pages of topics")
        #expect(listing.verdict(Self.page([], next: "n"), nowMs: responseNow) == endless)
    }

    @Test(arguments: [
        answer(200, ""), answer(200, "[]"), answer(200, #"{"topicSubscriptions":{}}"#),
        answer(200, #"{"topicSubscriptions":[{}]}"#), answer(200, #"{"topicSubscriptions":[{"topicName":""}]}"#),
        answer(200, #"{"nextPageToken":7}"#), answer(200, #"{"topicSubscriptions":["#, isComplete: false),
        answer(200, "<html>", type: "text/html"), answer(503, retryAfter: "9"), .unsent(reason: "dns"),
        .ambiguous(reason: "reset"),
    ])
    func answerThatIsNoPageIsRetried(outcome: RequestOutcome) {
        let listing = TopicListing()
        #expect(listing.continuation(after: outcome) == nil)
        guard case .retry(let retry) = listing.verdict(outcome, nowMs: responseNow) else {
            Issue.record("asked again")
            return
        }
        #expect(!retry.mayHaveArrived && retry.scope == .recipient)
    }

    @Test func deadTokenFails() {
        let body = V1Body.envelope(404, "NOT_FOUND", "m", V1Body.fcmError("UNREGISTERED"))
        guard case .failed(let failure) = TopicListing().verdict(answer(404, body), nowMs: responseNow) else {
            Issue.record("failed")
            return
        }
        #expect(failure.error == .unregistered && failure.action == .remove)
        let refused = TopicListing().verdict(answer(403, V1Body.envelope(403, "PERMISSION_DENIED")), nowMs: responseNow)
        let raw = "v1 topic API: PERMISSION_DENIED"
        #expect(refused == TopicBatchTests.failed(.unspecified, .fixCredentials, raw, 403))
    }

    @Test func noBodyTraps() {
        var generator = ResponseGenerator(seed: 0x70C)
        let body = Array(#"{"topicSubscriptions":[{"topicName":"a"},{"topicName":"b"}],"nextPageToken":"x"}"#.utf8)
        for _ in 0..<10_000 {
            let mutated = HTTPAnswer(
                status: 200,
                body: body.mutated(using: &generator),
                isComplete: true,
                contentType: "application/json"
            )
            let listing = TopicListing()
            if let next = listing.continuation(after: .answered(mutated)) { #expect(Self.path(next) != nil) }
            _ = listing.verdict(.answered(mutated), nowMs: responseNow)
        }
    }
}
