import FCMSimulator
import FanfareJSON
import Testing

@Suite struct TopicTests {
    private static func body(_ tokens: [String], to: String = "/topics/news") -> String {
        let list = JSONValue.array(tokens.map { .string($0) })
        return JSONValue.object(["to": .string(to), "registration_tokens": list]).jsonText
    }

    /// The results as short words: the error, or `ok`.
    private static func words(_ reply: SimulatorReply) throws -> [String] {
        let list = try #require(try reply.json()["results"]?.array)
        return list.map { $0.object?["error"]?.string ?? "ok" }
    }

    @Test func `every token of a batch is answered in its order`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"gone","state":"unregistered"}"#)
        let tokens = [
            "a", "sbx-unregistered-1", "sbx-invalid-1", "not a token", "sbx-mismatch-1", "gone", "sbx-internal-1-x",
            "sbx-quota-1-x", "sbx-apple-1",
        ]
        let expected = [
            "ok", "NOT_FOUND", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "PERMISSION_DENIED", "NOT_FOUND", "INTERNAL",
            "RESOURCE_EXHAUSTED", "ok",
        ]
        #expect(try Self.words(trial.topics("batchAdd", Self.body(tokens))) == expected)
        let again = try Self.words(trial.topics("batchAdd", Self.body(["sbx-internal-1-x", "sbx-quota-1-x"])))
        #expect(again == ["ok", "ok"])
        trial.send(topic: "news")
        #expect(try trial.fanouts().first?["recipients"] == 4)
        trial.nowMs += 1
        #expect(try trial.deliveries("sbx-apple-1").first?["platform"] == "apple")
    }

    @Test func `an unsubscribed token gets no more messages of the topic`() throws {
        var trial = Trial()
        #expect(try Self.words(trial.topics("batchAdd", Self.body(["a", "b"]))) == ["ok", "ok"])
        #expect(try Self.words(trial.topics("batchRemove", Self.body(["a", "stranger"]))) == ["ok", "ok"])
        trial.send(topic: "news")
        trial.nowMs += 1
        #expect(try trial.deliveries("a").isEmpty)
        #expect(try trial.deliveries("b").count == 1)
    }

    @Test func `a bearer token needs its header, a server key does not`() throws {
        var trial = Trial()
        let body = Self.body(["a"])
        let key = "key=" + Trial.project.serverKey
        #expect(trial.topics("batchAdd", body, accessTokenAuth: false).status == 401)
        #expect(trial.topics("batchAdd", body, authorization: nil).status == 401)
        #expect(trial.topics("batchAdd", body, authorization: "Bearer stranger").status == 401)
        #expect(trial.topics("batchAdd", body, authorization: "key=stranger").status == 401)
        #expect(trial.topics("batchAdd", body, authorization: key, accessTokenAuth: false).status == 200)
        let scope = "https://www.googleapis.com/auth/datastore"
        _ = trial.exchange(TokenText.body(nowMs: trial.nowMs, scope: scope), newToken: "ya29.narrow")
        let forbidden = trial.topics("batchAdd", body, authorization: "Bearer ya29.narrow")
        #expect(forbidden.status == 403)
        #expect(try forbidden.json() == ["error": "PERMISSION_DENIED"])
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"to":"news","registration_tokens":["a"]}"#,
        #"{"to":"/topics/a b","registration_tokens":["a"]}"#,
        #"{"to":"/topics/a","registration_tokens":[]}"#, #"{"to":"/topics/a","registration_tokens":[1]}"#,
        body((0..<1_001).map { "t\($0)" }),
    ])
    func `a malformed batch is refused as a whole`(body: String) throws {
        var trial = Trial()
        let reply = trial.topics("batchAdd", body)
        #expect(reply.status == 400)
        #expect(try reply.json() == ["error": "INVALID_ARGUMENT"])
    }

    @Test func `a batch beyond 3,000 operations a second is performed in part`() throws {
        var trial = Trial()
        func batch(_ index: Int, _ size: Int = 1_000) -> String { Self.body((0..<size).map { "t\(index)-\($0)" }) }
        #expect(trial.topics("batchAdd", batch(0)).status == 200)
        #expect(trial.topics("batchAdd", batch(1)).status == 200)
        #expect(trial.topics("batchRemove", batch(0, 900)).status == 200)
        let partly = try Self.words(trial.topics("batchAdd", batch(2)))
        #expect(partly.count { $0 == "ok" } == 100)
        #expect(Set(partly.dropFirst(100)) == ["RESOURCE_EXHAUSTED"])
        trial.nowMs += 999
        let refused = trial.topics("batchAdd", batch(3))
        #expect(refused.status == 429)
        #expect(refused.header("retry-after") == "1")
        #expect(try refused.json() == ["error": "RESOURCE_EXHAUSTED"])
        trial.nowMs += 1
        #expect(trial.topics("batchAdd", batch(3)).status == 200)
        trial.send(topic: "news")
        #expect(try trial.fanouts().first?["recipients"] == 2_200)
    }

    @Test func `a token beyond two thousand topics is refused`() throws {
        var trial = Trial()
        let topics = (0..<2_000).map { "\"t\($0)\"" }.joined(separator: ",")
        trial.control("POST", "/devices", #"{"token":"a","topics":[\#(topics)]}"#)
        #expect(try Self.words(trial.topics("batchAdd", Self.body(["a", "b"]))) == ["TOO_MANY_TOPICS", "ok"])
        #expect(try Self.words(trial.topics("batchAdd", Self.body(["a"], to: "/topics/t7"))) == ["ok"])
        trial.control("POST", "/devices", #"{"token":"a","topics":[]}"#)
        #expect(try Self.words(trial.topics("batchAdd", Self.body(["a"]))) == ["ok"])
    }

    @Test func `a fault matches the tokens of a subscription`() throws {
        var trial = Trial()
        let match = #"{"path":"/iid/","token_prefix":"b"}"#
        trial.control("POST", "/faults", #"{"match":\#(match),"action":{"status":503},"times":1}"#)
        #expect(trial.topics("batchAdd", Self.body(["a"])).status == 200)
        #expect(trial.topics("batchAdd", Self.body(["a", "b"])).status == 503)
        #expect(trial.topics("batchAdd", Self.body(["a", "b"])).status == 200)
    }
}
