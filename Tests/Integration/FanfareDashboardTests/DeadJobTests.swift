import FanfareClient
import FanfareJSON
import FanfareRedis
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// The fields of dead jobs, and the edited push.
@Suite struct DeadJobTests {
    private static let token = String(repeating: "aB3_", count: 35)

    private func entry(_ fields: [(String, String)], kind: String = "rejected") throws -> DeadEntry {
        let own = [("job", "j"), ("kind", kind), ("reason", "tokens[1]: bad")] + fields.map { ("f." + $0.0, $0.1) }
        let fields = own.flatMap { [RedisValue.bulk(Array($0.0.utf8)), .bulk(Array($0.1.utf8))] }
        return try DeadEntry(try #require(StreamEntry(.array([.bulk(Array("1-1".utf8)), .array(fields)]))))
    }

    private func edited(_ fields: [(String, String)], _ changes: String, kind: String = "rejected") throws -> [String] {
        let changes = try JSONParser.parse(Array(changes.utf8), limits: JSONLimits())
        return try EditedEntry.fields(of: entry(fields, kind: kind), changes: changes).map {
            "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))"
        }
    }

    @Test func changedFieldsReplaceStoredOnes() throws {
        let stored = [("id", "j"), ("token", Self.token), ("ttl", "1"), ("priority", "11")]
        let changes = #"[{"name":"priority","value":"9"},{"name":"ttl","remove":true},{"name":"topic","value":"a"}]"#
        #expect(try edited(stored, changes) == ["id=j", "token=\(Self.token)", "priority=9", "topic=a"])
        // A field that was given twice is rejected; the changed one stays once.
        #expect(try edited([("id", "a"), ("id", "b")], #"[{"name":"id","value":"c"}]"#) == ["id=c"])
    }

    @Test func elementsLeaveALongList() throws {
        let stored = [("tokens", #"["\#(Self.token)","bad token", "t2"]"#)]
        #expect(
            try edited(stored, #"[{"name":"tokens","without":[1]}]"#) == [#"tokens=["\#(Self.token)","t2"]"#]
        )
        for indices in ["[3]", "[-1]", "[1,1]", #"["1"]"#, "[9223372036854775807]"] {
            #expect(throws: EditedEntry.EditError.self) {
                try edited(stored, #"[{"name":"tokens","without":\#(indices)}]"#)
            }
        }
        #expect(throws: EditedEntry.EditError.self) {
            try edited([("tokens", "x")], #"[{"name":"tokens","without":[0]}]"#)
        }
    }

    @Test(arguments: [
        #"[{"name":"token","value":"aB3_aB…[140 characters]"}]"#, "[]", "{}", "3", #"[{"value":"x"}]"#,
        #"[{"name":"token"}]"#, #"[{"name":"","value":"x"}]"#, #"[{"name":"token","remove":true}]"#,
    ])
    func maskedOrEmptyChangesAreRefused(changes: String) {
        #expect(throws: EditedEntry.EditError.self) { try edited([("token", Self.token)], changes) }
    }

    @Test(arguments: ["1790000000", "1790000000000000", "soon", ""])
    func timeInAnotherUnitIsRefused(time: String) throws {
        for name in ["not_before", "expires_at"] {
            let changes = #"[{"name":"\#(name)","value":"\#(time)"}]"#
            let error = #expect(throws: EditedEntry.EditError.self) { try edited([("token", "t")], changes) }
            #expect(error?.message.hasPrefix("\(name): \(time) is not 100000000000 to 99999999999999") == true)
        }
        let fine = #"[{"name":"not_before","value":"1790000000000"}]"#
        #expect(try edited([("token", "t")], fine) == ["token=t", "not_before=1790000000000"])
    }

    @Test func parkedJobIsNotEdited() {
        #expect(throws: EditedEntry.EditError.self) {
            try edited([("token", "t")], #"[{"name":"token","value":"x"}]"#, kind: "parked")
        }
    }

    @Test func shownFieldsHoldNoToken() throws {
        let native = "dQw4w9WgXcQ:APA91b" + String(repeating: "x", count: 120)
        let values = [
            ("token", Self.token), ("tokens", #"["\#(Self.token)","bad token!"]"#),
            ("recipients", #"[{"token":"\#(Self.token)","vars":{"name":"Ana"}}]"#),
            ("message", #"{"token":"\#(Self.token)","data":{"k":"\#(native)"}}"#), ("fid", "{\(Self.token)"),
        ]
        for (name, value) in values {
            let shown = JSONValue.object(MaskedField(name: name, value: Array(value.utf8)).json).jsonText
            #expect(!shown.contains(Self.token.dropFirst(8)) && !shown.contains("APA91bxx"), "\(shown)")
            #expect(shown.contains("characters]") && shown.contains(#""is_masked":true"#))
        }
        let open = MaskedField(name: "message", value: Array(#"{"data":{"a":"b"}}"#.utf8)).json
        #expect(open["shown"] == "{\n  \"data\": {\n    \"a\": \"b\"\n  }\n}" && open["is_masked"] == nil)
        let broken = MaskedField(name: "message", value: Array(#"{"data":{"a":"b"}"#.utf8)).json
        #expect(broken["shown"] == #"{"data":{"a":"b"}"#)
        let number = MaskedField(name: "variants", value: Array(#"{"es":{"n":12345678901234567890.10}}"#.utf8)).json
        #expect(number["shown"]?.string?.contains("12345678901234567890.10") == true, "numbers stay as written")
        #expect(MaskedField(name: "message", value: [0xFF]).json["is_binary"] == true)
        let long = MaskedField(name: "message", value: Array(repeating: 0x61, count: 40_000)).json
        #expect(long["is_cut"] == true && (long["shown"]?.string?.utf8.count ?? 0) < 33_000)
    }

    @Test(arguments: [
        (#"{"to" : "abcdefghijklm","x":"y"}"#, #"{"to" : "abcdef…[13 characters]","x":"y"}"#),
        (#"{"token":"short","fid":"0123456789ab"}"#, #"{"token":"short","fid":"0123456789ab"}"#),
        (#"{"token":"abcdefghijklmno"#, #"{"token":"abcdef…[15 characters]"#),
        ("at xy-1:APA91bQ_z:w, and on", "at xy-1:A…[16 characters], and on"), ("a :APA91bQ", "a :APA91bQ"),
        (#""token""#, #""token""#), (#""token":"#, #""token":"#), (#""token": ""#, #""token": ""#), ("", ""),
        ("a:APA91bB c:APA91bD", "a:APA9…[9 characters] c:APA9…[9 characters]"),
    ])
    func tokensInAnyTextAreMasked(text: String, shown: String) {
        #expect(MaskedField.masked(text) == shown)
    }

    /// A text chosen by a producer must not stop the dashboard: with a quadratic search this takes hours.
    @Test(.timeLimit(.minutes(10)), arguments: ["a", "a:", ":APA91b", "\"token\"", "\"token\":", "\"to\":\"", " "])
    func longTextIsMaskedInOnePass(part: String) {
        let text = String(repeating: part, count: 1_000_000 / part.utf8.count)
        #expect(MaskedField.masked(text).utf8.count >= 1)
    }

    @Test func fieldsAreShownToUsersWhoMayAct() async throws {
        try await withDashboard { bench in
            try await bench.reject("r", reason: "token: bad")
            let id = try #require(try await bench.projectOperator.deadEntries().first?.id)
            let entry = try await bench.web.get("/api/projects/demo/dead/\(id)")
            #expect(entry.status == 200 && entry.body.contains(#""shown":"a b""#))
            #expect(try await bench.web.get("/api/projects/demo/dead/9-9").status == 404)
        }
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            try await bench.reject("r", reason: "token: bad")
            let id = try #require(try await bench.projectOperator.deadEntries().first?.id)
            let entry = try await bench.web.get("/api/projects/demo/dead/\(id)")
            #expect(entry.status == 403 && !entry.body.contains("a b"))
            let push = try await bench.web.post("/api/projects/demo/dead/\(id)/push", #"{"changes":[]}"#)
            #expect(push.status == 403)
        }
    }

    @Test func editedJobIsPushedOnce() async throws {
        try await withDashboard { bench in
            try await bench.reject("r", reason: "token: bad")
            let id = try #require(try await bench.projectOperator.deadEntries().first?.id)
            let path = "/api/projects/demo/dead/\(id)/push"
            #expect(try await bench.web.post(path, #"{"changes":[]}"#).status == 400)
            let masked = #"{"changes":[{"name":"token","value":"a b…[9 characters]"}]}"#
            #expect(try await bench.web.post(path, masked).status == 400)
            let changes =
                #"{"reason":"typo","changes":[{"name":"token","value":"good"},{"name":"topic","remove":true}]}"#
            let pushed = try await bench.web.post(path, changes)
            #expect(pushed.status == 200 && pushed.json["outcome"] as? String == "pushed", "\(pushed.body)")
            #expect(try await bench.web.post(path, changes).status == 404)
            #expect(try await bench.projectOperator.deadEntries().isEmpty)
            let entry = pushed.json["entry_id"] as? String ?? ""
            let stored = try await bench.client.send(RedisCommand("XRANGE", bench.keys.jobs, entry, entry))
            let fields = try #require(stored.array?.first.flatMap { StreamEntry($0) })
            #expect(fields.text("token") == "good")
        }
    }

    @Test func deadEntriesAreFilteredByKind() async throws {
        try await withDashboard { bench in
            for index in 0..<60 { try await bench.reject("r\(index)", reason: "token: bad") }
            let rejected = try await bench.web.get("/api/projects/demo/dead?kind=rejected").json
            #expect((rejected["entries"] as? [Any])?.count == 50 && rejected["before"] != nil)
            let parked = try await bench.web.get("/api/projects/demo/dead?kind=parked").json
            #expect((parked["entries"] as? [Any])?.isEmpty == true && parked["before"] == nil)
        }
    }
}
