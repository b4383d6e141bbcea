import FCMSimulator
import FanfareJSON
import Testing

extension Trial {
    /// One request below `/v1/projects/demo/registrations/`.
    mutating func registration(
        _ method: String,
        _ path: String,
        query: String = "",
        body: String = "",
        project: String = "demo",
        isAuthorized: Bool = true
    ) -> SimulatorReply {
        let request = SimulatorRequest(
            method: method,
            path: "/v1/projects/\(project)/registrations/" + path,
            query: query,
            authorization: isAuthorized ? authorization : nil,
            contentType: "application/json",
            body: Array(body.utf8)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    mutating func info(_ token: String, query: String = "details=true", key: String? = nil) -> SimulatorReply {
        let request = SimulatorRequest(
            method: "GET",
            path: "/iid/info/" + token,
            query: query,
            authorization: "key=" + (key ?? Trial.project.serverKey)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }
}

@Suite struct SubscriptionTests {
    @Test func `a subscription is created, found, listed and deleted`() throws {
        var trial = Trial()
        let made = trial.registration("POST", "a:b/topicSubscriptions", query: "topicName=news", body: "{}")
        let expected: JSONObject = [
            "name": "projects/demo/registrations/a:b/topicSubscriptions/news", "topicName": "news",
            "createTime": "2027-01-15T08:00:00.000Z",
        ]
        #expect(made.status == 200)
        #expect(try made.json() == expected)
        trial.nowMs += 5_000
        #expect(try trial.registration("GET", "a%3Ab/topicSubscriptions/news").json() == expected)
        let listed = try trial.registration("GET", "a:b/topicSubscriptions").json()
        #expect(listed == ["topicSubscriptions": .array([.object(expected)])])
        trial.send(topic: "news")
        trial.nowMs += 1
        #expect(try trial.deliveries("a:b").count == 1)
        #expect(trial.registration("DELETE", "a:b/topicSubscriptions/news").text == "{}")
        #expect(trial.registration("GET", "a:b/topicSubscriptions/news").status == 404)
        #expect(try trial.registration("GET", "a:b/topicSubscriptions").json()["topicSubscriptions"] == .array([]))
    }

    @Test func `creating an existing subscription and deleting a missing one are errors`() throws {
        var trial = Trial()
        #expect(trial.registration("POST", "a/topicSubscriptions", query: "topic_name=t", body: "{}").status == 200)
        let again = trial.registration("POST", "a/topicSubscriptions", query: "topicName=t", body: "{}")
        #expect(again.status == 409)
        #expect(try again.error()["status"] == "ALREADY_EXISTS")
        let table: [(method: String, topic: String, query: String, status: Int)] = [
            ("PATCH", "t", "", 200), ("PATCH", "u", "", 404), ("PATCH", "u", "allowMissing=false", 404),
            ("PATCH", "u", "allowMissing=true", 200), ("PATCH", "u", "allow_missing=true", 200),
            ("GET", "u", "", 200), ("DELETE", "u", "", 200), ("DELETE", "u", "", 404),
            ("DELETE", "u", "allowMissing=true", 200), ("DELETE", "u", "allowMissing=maybe", 400),
        ]
        for (method, topic, query, status) in table {
            let reply = trial.registration(method, "a/topicSubscriptions/\(topic)", query: query)
            #expect(reply.status == status, "\(method) \(topic) \(query)")
            if status == 404 { #expect(try reply.error()["status"] == "NOT_FOUND") }
            if status == 404 { #expect(try reply.fcmError() == nil) }
        }
    }

    @Test func `errors come in the envelope of HTTP v1`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"gone","state":"unregistered"}"#)
        let table: [(token: String, status: Int, code: String?)] = [
            ("gone", 404, "UNREGISTERED"), ("sbx-unregistered-1", 404, "UNREGISTERED"),
            ("sbx-invalid-1", 400, "INVALID_ARGUMENT"), ("not%20a%20token", 400, "INVALID_ARGUMENT"),
            ("sbx-mismatch-1", 403, "SENDER_ID_MISMATCH"), ("sbx-auth-1", 401, "THIRD_PARTY_AUTH_ERROR"),
            ("sbx-unavailable-1-x", 503, "UNAVAILABLE"), ("sbx-internal-1-x", 500, "INTERNAL"),
            ("sbx-quota-1-x", 429, "QUOTA_EXCEEDED"), ("sbx-quota-1-x", 200, nil),
        ]
        for (token, status, code) in table {
            let reply = trial.registration("POST", token + "/topicSubscriptions", query: "topicName=t", body: "{}")
            #expect(reply.status == status, "\(token)")
            if let code { #expect(try reply.fcmError() == code, "\(token)") }
            #expect((reply.header("retry-after") != nil) == (status == 429 || status >= 500), "\(token)")
        }
        func status(_ query: String, _ body: String) -> Int {
            trial.registration("POST", "a/topicSubscriptions", query: query, body: body).status
        }
        #expect(status("", "{}") == 400)
        #expect(status("topicName=a%20b", "{}") == 400)
        #expect(status("topicName=a", "{") == 400)
        #expect(status("topicName=a", #"{"topic":"a"}"#) == 400)
        #expect(status("topicName=a", #"{"topicName":"b"}"#) == 400)
        #expect(status("topicName=a", #"{"topicName":"a"}"#) == 200)
        #expect(trial.registration("GET", "a/topicSubscriptions", project: "none").status == 404)
        #expect(trial.registration("GET", "a/topicSubscriptions", project: "other").status == 403)
        #expect(trial.registration("GET", "a/topicSubscriptions", isAuthorized: false).status == 401)
        #expect(trial.registration("PUT", "a/topicSubscriptions").status == 405)
        #expect(trial.registration("GET", "a/elsewhere").status == 404)
    }

    @Test func `a list is split into pages`() throws {
        var trial = Trial()
        let topics = (0..<2_000).map { "\"t\($0)\"" }.joined(separator: ",")
        trial.control("POST", "/devices", #"{"token":"a","topics":[\#(topics)]}"#)
        func page(_ query: String) throws -> (names: [String], next: String?) {
            let reply = try trial.registration("GET", "a/topicSubscriptions", query: query).json()
            let list = try #require(reply["topicSubscriptions"]?.array)
            return (list.compactMap { $0.object?["topicName"]?.string }, reply["nextPageToken"]?.string)
        }
        let first = try page("")
        #expect(first.names.count == 1_000)
        let second = try page("pageToken=" + (try #require(first.next)))
        #expect(second.names.count == 1_000)
        #expect(second.next == nil)
        #expect(Set(first.names + second.names).count == 2_000)
        #expect(try page("pageSize=9999").names.count == 2_000)
        #expect(try page("pageSize=3").names == ["t0", "t1", "t10"])
        for query in ["pageSize=-1", "pageSize=x", "pageToken=stranger"] {
            #expect(trial.registration("GET", "a/topicSubscriptions", query: query).status == 400, "\(query)")
        }
        let full = trial.registration("POST", "a/topicSubscriptions", query: "topicName=new", body: "{}")
        #expect(full.status == 400)
        #expect(try full.detail("ErrorInfo")?["reason"] == "TOO_MANY_TOPICS")
    }

    @Test func `both APIs share 3,000 subscription changes a second`() throws {
        var trial = Trial()
        let list = (0..<1_000).map { "\"t\($0)\"" }.joined(separator: ",")
        let body = #"{"to":"/topics/n","registration_tokens":[\#(list)]}"#
        for _ in 0..<2 { #expect(trial.topics("batchAdd", body).status == 200) }
        for index in 0..<1_000 {
            let reply = trial.registration("PATCH", "a/topicSubscriptions/x\(index)", query: "allowMissing=true")
            #expect(reply.status == 200)
        }
        let refused = trial.registration("DELETE", "a/topicSubscriptions/x1")
        #expect(refused.status == 429)
        #expect(try refused.detail("ErrorInfo")?["reason"] == "RATE_LIMIT_EXCEEDED")
        #expect(trial.topics("batchAdd", body).status == 429)
        // Looking is free.
        #expect(trial.registration("GET", "a/topicSubscriptions/x1").status == 200)
        trial.nowMs += 1_000
        #expect(trial.registration("DELETE", "a/topicSubscriptions/x1").status == 200)
    }

    @Test func `the Instance ID API describes a token and its topics`() throws {
        var trial = Trial()
        _ = trial.topics("batchAdd", #"{"to":"/topics/news","registration_tokens":["sbx-apple-1"]}"#)
        let info = try trial.info("sbx-apple-1").json()
        #expect(info["platform"] == "IOS")
        #expect(info["authorizedEntity"] == .string(Trial.project.senderID))
        let topics: JSONValue = .object(["news": .object(["addDate": "2027-01-15"])])
        #expect(info["rel"] == .object(["topics": topics]))
        #expect(try trial.info("a", query: "").json()["rel"] == nil)
        #expect(try trial.info("sbx-invalid-1").json() == ["error": "InvalidToken"])
        #expect(trial.info("sbx-invalid-1").status == 400)
        #expect(trial.info("sbx-unregistered-1").status == 404)
        #expect(trial.info("a", key: "stranger").status == 401)
    }
}
