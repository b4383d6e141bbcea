import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// Plain text, answers and errors.
extension LegacyHTTPReference {
    // MARK: Table 3

    @Test("L36 L37: plain text takes one token, four options and data, and refuses anything else")
    func plainText() throws {
        var scene = try Scene()
        scene.device("42", Device(package: "com.example"))
        let message = #"""
            {"collapse_key":"score_update","time_to_live":108,"restricted_package_name":"com.example",
             "data":{"score":"4x8"}}
            """#
        let job = try scene.intake(["message": message, "format": "legacy", "token": "42"], over: .plainText)
        let body = String(
            decoding: try Scene.body(of: job, recipient: "42", over: .plainText, nowMs: scene.nowMs),
            as: UTF8.self
        )
        #expect(
            Set(body.split(separator: "&")) == [
                "registration_id=42", "collapse_key=score_update", "time_to_live=108",
                "restricted_package_name=com.example", "data.score=4x8",
            ]
        )
        #expect(try scene.send(message, to: ("token", "42"), over: .plainText).isSent)
        #expect(try scene.arrival("42").payload["score"] == "4x8")
        for field in [
            #""notification":{"title":"t"}"#, #""priority":"high""#, #""content_available":true"#,
            #""mutable_content":true"#,
        ] {
            #expect(throws: Scene.Rejected.self) { try scene.send("{\(field)}", to: ("token", "42"), over: .plainText) }
        }
        for target in ["topic", "condition", "group"] {
            let value = target == "condition" ? "'a' in topics" : "a"
            #expect(throws: Scene.Rejected.self) { try scene.send(Self.score, to: (target, value), over: .plainText) }
        }
        #expect(scene.raw("data.a=b", over: .plainText).failure == Self.fixMessage)
        #expect(scene.reply.text == "Error=MissingRegistration\n")
    }

    @Test("L38: plain text takes any number of pairs up to 4,096 bytes")
    func plainTextSize() throws {
        var scene = try Scene()
        let pairs = (0..<400).map { #""k\#($0)":"v""# }.joined(separator: ",")
        #expect(try scene.send(#"{"data":{\#(pairs)}}"#, to: ("token", "t"), over: .plainText).isSent)
        #expect(try scene.arrival("t").payload["k399"] == "v")
        // As many as the bytes have room for: 2,040 keys of two letters, without values.
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".map(String.init)
        let keys = letters.flatMap { first in letters.map { first + $0 } }.prefix(2_040)
        #expect(keys.count == 2_040)
        let many = keys.map { "\"\($0)\":\"\"" }.joined(separator: ",")
        #expect(try scene.send(#"{"data":{\#(many)}}"#, to: ("token", "u"), over: .plainText).isSent)
        #expect(try scene.arrival("u").payload[keys[2_039]] == "")
        let long = String(repeating: "x", count: 4_096)
        #expect(throws: Scene.Rejected.self) {
            try scene.send(#"{"data":{"k":"\#(long)"}}"#, to: ("token", "t"), over: .plainText)
        }
        #expect(scene.raw("registration_id=t&data.k=\(long)", over: .plainText).failure == Self.fixMessage)
        #expect(scene.reply.text == "Error=MessageTooBig\n")
    }

    @Test("L39: form-encoded values arrive unchanged")
    func plainTextExtras() throws {
        var scene = try Scene()
        let text = "3x1 & 50% = a+b\né😀"
        let message = JSONValue.object(["data": .object(["score": .string(text)])]).jsonText
        #expect(try scene.send(message, to: ("token", "t"), over: .plainText).isSent)
        #expect(try scene.arrival("t").payload["score"] == .string(text))
    }

    // MARK: Tables 4 to 8

    @Test("L40: status 200 is for the request; its body has a result for each recipient")
    func status200() throws {
        var scene = try Scene()
        let verdicts = try scene.multicast(Self.score, to: ["a", "sbx-unregistered-1"])
        #expect(scene.reply.status == 200)
        #expect(verdicts.map(\.isSent) == [true, false])
        _ = try scene.send(Self.score, to: ("token", "sbx-unregistered-1"), over: .plainText)
        #expect(scene.reply.status == 200)
    }

    @Test("L41: a 400 for bad JSON or a wrong type is final and names the fault")
    func status400() throws {
        var scene = try Scene()
        for body in [#"{"to":"t""#, "nonsense", #"{"to":"t","time_to_live":"60"}"#, #"{"to":7}"#, #"{"to":"t","x":1}"#]
        {
            let verdict = scene.raw(body, over: .legacy)
            #expect(scene.reply.status == 400)
            #expect(scene.reply.text.count > 10)
            #expect(verdict.failure == Self.fixMessage, "\(body)")
        }
    }

    @Test("L42 L53: a 401 blocks the whole project until an operator acts")
    func status401() throws {
        var scene = try Scene()
        let body = Array(#"{"to":"t"}"#.utf8)
        for authorization in ["", "key", "key=wrong", Scene.project.serverKey] {
            let reply = scene.post(body, over: .legacy, authorization: authorization)
            #expect(reply.status == 401)
            let verdict = scene.verdict(reply.outcome, kind: .token, recipient: "t", over: .legacy)
            guard case .blockProject = verdict else {
                Issue.record("\(verdict)")
                return
            }
        }
        // A right key, and beside it another project's number.
        let request = SimulatorRequest(
            method: "POST",
            path: "/fcm/send",
            authorization: "key=" + Scene.project.serverKey,
            contentType: "application/json",
            projectIDHeader: Scene.other.senderID,
            body: body
        )
        #expect(scene.simulator.respond(to: ReadRequest(request), nowMs: scene.nowMs).status == 401)
    }

    @Test("L43: a 5xx is retried after Retry-After, with growing waits")
    func status5xx() throws {
        var scene = try Scene()
        for (status, retryAfter) in [(500, ""), (503, "120"), (503, "")] {
            let part = retryAfter.isEmpty ? "" : #","retry_after":"\#(retryAfter)""#
            let fault = #"{"match":{"path":"/fcm/send"},"action":{"status":\#(status)\#(part)},"times":3}"#
            #expect(scene.control("POST", "/faults", fault).status == 200)
            let (waits, last) = try scene.tries(Self.score, to: ("token", "t"), over: .legacy)
            #expect(last.isSent)
            #expect(waits == (retryAfter.isEmpty ? [10_000, 20_000, 40_000] : [120_000, 120_000, 120_000]))
        }
    }

    @Test("L44 L45: a multicast's answer has a 64-bit number, two counts and results in the request's order")
    func multicastAnswer() throws {
        var scene = try Scene()
        let tokens = ["a", "sbx-unavailable-1-x", "sbx-invalid-1", "b", "sbx-canonical-32", "sbx-unregistered-1"]
        let verdicts = try scene.multicast(Self.score, to: tokens)
        let reply = try scene.reply.json()
        // More digits than a double can hold.
        #expect(try #require(reply["multicast_id"]?.number?.text).count == 19)
        #expect(reply["multicast_id"]?.number?.int64 != nil)
        #expect(reply["success"] == 3)
        #expect(reply["failure"] == 3)
        #expect(reply["results"]?.array?.count == 6)
        let words = verdicts.map { verdict -> String in
            switch verdict {
            case .sent(let id, let canonical): return (id.isEmpty ? "?" : "sent") + (canonical.map { ">" + $0 } ?? "")
            case .retry: return "retry"
            default: return verdict.failure
            }
        }
        #expect(
            words == [
                "sent", "retry", "INVALID_ARGUMENT remove", "sent", "sent>canon-32", "UNREGISTERED remove",
            ]
        )
        // Only recipients that are to be tried again are in the next request.
        let again = zip(tokens, verdicts).filter { $0.1.retry != nil }.map(\.0)
        #expect(try scene.multicast(Self.score, to: again).map(\.isSent) == [true])
        #expect(try scene.arrivals("a").count == 1)
    }

    @Test("L46: a topic's answer has the message's number or an error")
    func topicAnswer() throws {
        var scene = try Scene()
        let sent = try scene.send(Self.score, to: ("topic", "news"), over: .legacy)
        let id = try #require(try scene.reply.json()["message_id"]?.number?.text)
        #expect(sent.messageID == id)
        let refused = try scene.send(Self.score, to: ("topic", "sbx-topicrate-1-news"), over: .legacy)
        #expect(try scene.reply.json() == ["error": "TopicsMessageRateExceeded"])
        #expect(refused.retry?.scope == .topic)
    }

    @Test("L47 L48: plain text answers `id`, maybe with the token's successor, or `Error`")
    func plainTextAnswer() throws {
        var scene = try Scene()
        let sent = try scene.send(Self.score, to: ("token", "t"), over: .plainText)
        #expect(scene.reply.text.hasPrefix("id="))
        #expect(sent.messageID?.isEmpty == false)
        let replaced = try scene.send(Self.score, to: ("token", "sbx-canonical-32"), over: .plainText)
        #expect(scene.reply.text.contains("\nregistration_id=canon-32"))
        guard case .sent(_, let canonical) = replaced else {
            Issue.record("\(replaced)")
            return
        }
        #expect(canonical == "canon-32")
        // A token that is named as it was sent has no successor.
        let same = PlainTextResponse.verdict(
            .answered(
                HTTPAnswer(status: 200, body: Array("id=1:2\nregistration_id=t\n".utf8), contentType: "text/plain")
            ),
            recipient: "t",
            nowMs: 0,
            atMostOnce: false
        )
        #expect(same == .sent(messageID: "1:2", canonical: nil))
        _ = try scene.send(Self.score, to: ("token", "sbx-unregistered-1"), over: .plainText)
        #expect(scene.reply.text == "Error=NotRegistered\n")
    }
}
