import FanfareModel
import Foundation
import TestSupport
import Testing

@testable import FanfareCore

@Suite struct ValidationEntryTests {
    static let long = String(repeating: "x", count: 1_025)
    static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    static let names: [BadEntry] = [
        BadEntry(["colour": "red"], "colour: unknown field"),
        BadEntry(["Message": "{}"], "Message: unknown field"),
        BadEntry(["a\nb\u{202E}c": "1"], "a\\u{a}b\\u{202e}c: unknown field"),
        BadEntry(["to\u{212A}en": "a", "token": "b"], "to\u{212A}en: unknown field"),
        BadEntry(["priority": "1", "priority": "1"], "priority: given more than once"),
        BadEntry(["token": "a", "token": "b"], "token: given more than once"),
        BadEntry(["op": "SEND"], "op: \"SEND\" is not an operation"),
        BadEntry(["op": ""], "op: \"\" is not an operation"),
        BadEntry(["group_name": "g"], "group_name: only with a group operation"),
        BadEntry(
            ["token": nil],
            "target: required, exactly one of token, tokens, fid, fids, topic, condition, group, audience, recipients"
        ),
        BadEntry(["token": "a", "topic": "t"], "topic: exactly one target, token is given too"),
        BadEntry(["tokens": "[\"a\"]", "token": "a"], "tokens: exactly one target, token is given too"),
        BadEntry(["message": nil], "message: required"),
    ]

    static let scalars: [BadEntry] = [
        BadEntry(["id": ""], "id: empty"),
        BadEntry(["id": "a b"], "id: byte 1 is not one of A-Z a-z 0-9 . _ : -"),
        BadEntry(["id": String(repeating: "i", count: 129)], "id: 129 characters, at most 128"),
        BadEntry(["format": "v2"], "format: \"v2\" is not one of v1, legacy"),
        BadEntry(["priority": "10"], "priority: 10 is not 0 to 9"),
        BadEntry(["priority": "-1"], "priority: \"-1\" is not a whole number"),
        BadEntry(["priority": "high"], "priority: \"high\" is not a whole number"),
        BadEntry(["priority": "99999999999999999999"], "priority: 99999999999999999999 is not 0 to 9"),
        BadEntry(
            ["not_before": "99999999999999999999999"],
            "not_before: 99999999999999999999999 is not 100000000000 to 99999999999999"
        ),
        BadEntry(
            ["expires_at": String(repeating: "9", count: 1_000)],
            "expires_at: \(String(repeating: "9", count: 40))… is not 100000000000 to 99999999999999"
        ),
        BadEntry(["not_before": ""], "not_before: \"\" is not a whole number"),
        BadEntry(["not_before": "soon"], "not_before: \"soon\" is not a whole number"),
        BadEntry(["not_before": "0"], "not_before: 0 is not 100000000000 to 99999999999999"),
        BadEntry(["expires_at": "0"], "expires_at: 0 is not 100000000000 to 99999999999999"),
        BadEntry(
            ["not_before": "1795839345"],
            "not_before: 1795839345 is not 100000000000 to 99999999999999; seconds? multiply by 1000"
        ),
        BadEntry(
            ["expires_at": "99999999999"],
            "expires_at: 99999999999 is not 100000000000 to 99999999999999; seconds? multiply by 1000"
        ),
        BadEntry(
            ["expires_at": "100000000000000"],
            "expires_at: 100000000000000 is not 100000000000 to 99999999999999; microseconds? divide by 1000"
        ),
        BadEntry(
            ["not_before": "1795839345816753"],
            "not_before: 1795839345816753 is not 100000000000 to 99999999999999; microseconds? divide by 1000"
        ),
        BadEntry(
            ["not_before": "1795839345816753000"],
            "not_before: 1795839345816753000 is not 100000000000 to 99999999999999; nanoseconds? divide by 1000000"
        ),
        BadEntry(
            ["expires_at": "100000000005", "not_before": "100000000005"],
            "expires_at: 100000000005 is not after not_before 100000000005"
        ),
        BadEntry(["validate_only": "true"], "validate_only: \"true\" is not a whole number"),
        BadEntry(["validate_only": "2"], "validate_only: 2 is not 0 to 1"),
        BadEntry(["results": "some"], "results: \"some\" is not one of all, failures, none"),
        BadEntry(["results": ""], "results: \"\" is not one of all, failures, none"),
        BadEntry(
            ["delivery": "exactly_once"],
            "delivery: \"exactly_once\" is not one of at_least_once, at_most_once, replace"
        ),
        BadEntry(
            ["delivery": String(repeating: "é", count: 50)],
            "delivery: \"\(String(repeating: "é", count: 40))…\" is not one of at_least_once, at_most_once, replace"
        ),
        BadEntry(["audience_size": "10"], "audience_size: only with topic or condition"),
        BadEntry(["topic": "t", "audience_size": "1e3"], "audience_size: \"1e3\" is not a whole number"),
        BadEntry(["traceparent": "00-abc"], "traceparent: 6 characters, must be 55"),
        BadEntry(["traceparent": trace + "0"], "traceparent: 56 characters, must be 55"),
        BadEntry(["traceparent": trace.uppercased()], "traceparent: byte 4 is not one of 0-9 a-f"),
        BadEntry(["traceparent": "ff" + trace.dropFirst(2)], "traceparent: version ff is invalid"),
        BadEntry(["traceparent": "cc" + trace.dropFirst(2) + "x"], "traceparent: byte 55 must be a dash"),
        BadEntry(["traceparent": trace.replacing("-", with: "_")], "traceparent: byte 2 must be a dash"),
        BadEntry(
            ["traceparent": "00-\(String(repeating: "0", count: 32))-00f067aa0ba902b7-01"],
            "traceparent: the trace id is all zeros"
        ),
        BadEntry(
            ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"],
            "traceparent: the parent id is all zeros"
        ),
        BadEntry(["tracestate": "a=1"], "tracestate: only with traceparent"),
        BadEntry(["traceparent": trace, "tracestate": "a=1,b"], "tracestate: member 1 is not key=value"),
        BadEntry(["traceparent": trace, "tracestate": "A=1"], "tracestate: member 0 is not key=value"),
        BadEntry(["traceparent": trace, "tracestate": "a=1, a=2"], "tracestate: member 1 repeats a key"),
        BadEntry(
            ["traceparent": trace, "tracestate": String(repeating: "a=1,", count: 32)],
            "tracestate: member 1 repeats a key"
        ),
        BadEntry(
            ["traceparent": trace, "tracestate": (0..<33).map { "k\($0)=1" }.joined(separator: ",")],
            "tracestate: more than 32 members"
        ),
    ]

    static let targets: [BadEntry] = [
        BadEntry(["token": ""], "token: empty"),
        BadEntry(["token": long], "token: 1025 characters, at most 1024"),
        BadEntry(["token": "abc def"], "token: byte 3 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["token": "abc\u{0}"], "token: byte 3 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["group": "k/1"], "group: byte 1 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["fid": "f#"], "fid: byte 1 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["fid": "f"], over: .legacy, "fid: only with the v1 transport, this project's is legacy"),
        BadEntry(["fids": "[\"f\"]"], over: .xmpp, "fids: only with the v1 transport, this project's is xmpp"),
        BadEntry(["tokens": "[]"], "tokens: empty, at least 1"),
        BadEntry(["fids": " [ ] "], "fids: empty, at least 1"),
        BadEntry(["tokens": "[\"a\",\"\"]"], "tokens[1]: empty"),
        BadEntry(["tokens": "[\"a\",\"\(long)\"]"], "tokens[1]: 1025 characters, at most 1024"),
        BadEntry(["tokens": "[\"a\",\"b\",\"ü\"]"], "tokens[2]: byte 0 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["tokens": "[\"a\\n\"]"], "tokens[0]: byte 1 is not one of A-Z a-z 0-9 _ : . -"),
        BadEntry(["tokens": "[\"a\",7]"], "tokens[1]: must be a string, not a number"),
        BadEntry(["tokens": "[null]"], "tokens[0]: must be a string, not null"),
        BadEntry(["tokens": "[[\"a\"]]"], "tokens[0]: must be a string, not an array"),
        BadEntry(["tokens": "\"a\""], "tokens: must be an array, not a string"),
        BadEntry(["tokens": "{\"a\":1}"], "tokens: must be an array, not an object"),
        BadEntry(["tokens": "a,b"], "tokens: not JSON at byte 0: expected an array"),
        BadEntry(["tokens": ""], "tokens: not JSON at byte 0: the text ends where an array should be"),
        BadEntry(["tokens": "[\"a\""], "tokens: not JSON at byte 4: missing comma or closing bracket in an array"),
        BadEntry(["tokens": "[\"a\",]"], "tokens: not JSON at byte 5: unexpected character where a value should be"),
        BadEntry(["tokens": "[\"a\"]x"], "tokens: not JSON at byte 5: unexpected text after the value"),
        BadEntry(["tokens": "[\"a"], "tokens: not JSON at byte 3: the text ends within a string"),
        BadEntry(["tokens": "[\"a\\"], "tokens: not JSON at byte 4: the text ends within a string"),
        BadEntry(["tokens": "[\"a\\x\"]"], "tokens: not JSON at byte 3: unknown escape in a string"),
        BadEntry(["topic": ""], "topic: empty"),
        BadEntry(["topic": "/topics/"], "topic: empty"),
        BadEntry(["topic": "/news"], "topic: byte 0 is not one of A-Z a-z 0-9 - _ . ~ %"),
        BadEntry(["topic": "a:b"], "topic: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"),
        BadEntry(["topic": String(repeating: "t", count: 901)], "topic: 901 characters, at most 900"),
        BadEntry(["audience": ""], "audience: empty"),
        BadEntry(["audience": "users"], "audience: its hash tag must be {demo}"),
        BadEntry(["audience": "{other}:{demo}"], "audience: its hash tag must be {demo}"),
        BadEntry(["audience": "{}{demo}"], "audience: its hash tag must be {demo}"),
        BadEntry(["audience": "fanfare:{demo}:jobs"], "audience: must not start with fanfare:"),
        BadEntry(["audience": "a\n{demo}"], "audience: control character at byte 1"),
        BadEntry(["audience": "é\u{9B}{demo}"], "audience: control character at byte 2"),
        BadEntry(["audience": "{demo}" + long], "audience: 1031 bytes, at most 1024"),
    ]

    @Test(arguments: names + scalars + targets) func badEntryIsRejectedByFieldName(_ row: BadEntry) {
        let id = row.fields.first { $0.name == "id" }.map { String(decoding: $0.value, as: UTF8.self) }
        // Every `id` in these tables is a bad one.
        #expect(id == nil || row.reason.hasPrefix("id: "))
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    @Test func rejectedJobKeepsItsOwnValidID() {
        #expect(
            EntryBuilder.decide(["id": "mine", "priority": "x"])
                == .reject(jobID: "mine", reason: "priority: \"x\" is not a whole number")
        )
        #expect(
            EntryBuilder.decide(["id": "mine", "id": "mine"])
                == .reject(jobID: EntryBuilder.entryID, reason: "id: given more than once")
        )
        #expect(
            EntryBuilder.decide(["id": "mine", "nonsense": "1"])
                == .reject(jobID: "mine", reason: "nonsense: unknown field")
        )
    }

    @Test func pageListsEveryField() throws {
        let page = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Jobs.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let table = text.split(separator: "\n").drop { $0 != "| Field | Rule |" }.dropFirst(2)
        let names = table.prefix { $0.hasPrefix("|") }.flatMap { row in
            (row.split(separator: "|").first ?? "").matches(of: /`([a-z_]+)`/).map { String($0.1) }
        }
        #expect(names.count == Set(names).count)
        #expect(Set(names) == Set(EntryField.allCases.map(\.rawValue)))
    }

    @Test func pageShowsReasonsAsTheyAre() throws {
        let page = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Jobs.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let shown = text.matches(of: /```\n((?:.*\n)*?)```/).map { $0.1.split(separator: "\n") }
        let tokens = (0..<17).map { _ in "a" } + [String(repeating: "a", count: 1_025)]
        let reasons = [
            EntryBuilder.reason(["priority": "12"]),
            EntryBuilder.reason(["token": nil, "tokens": "[\(tokens.map { "\"\($0)\"" }.joined(separator: ","))]"]),
            EntryBuilder.reason(["message": #"{"data":{"k":"\#(String(repeating: "v", count: 5_011))"}}"#]),
            EntryBuilder.reason(["message": #"{"android":{"ttl":"5"}}"#]),
            EntryBuilder.reason(["message": #"{"priority" 1}"#]),
        ]
        #expect(shown.contains { $0.map(String.init) == reasons }, "\(reasons)")
    }

    @Test func firstFaultInTheDocumentedOrderIsReported() {
        let all: KeyValuePairs<String, String?> = [
            "message": "[]", "topic": "a b", "priority": "x", "format": "x", "op": "x", "id": "", "zzz": "1",
        ]
        #expect(EntryBuilder.reason(all) == "zzz: unknown field")
        let order = ["zzz", "id", "op", "format", "priority", "topic", "message"]
        for index in order.indices {
            let left = Set(order[index...])
            let fields = all.filter { left.contains($0.key) || $0.key == "topic" || $0.key == "message" }
                .map { (name: $0.key, value: Array(($0.value ?? "").utf8)) }
                .map { $0.name == "topic" && !left.contains("topic") ? ("topic", Array("a".utf8)) : $0 }
            let decision = EntryBuilder.validator().decide(entryID: "1-1", fields: fields)
            guard case .reject(_, let reason) = decision else {
                Issue.record("accepted without \(order[..<index])")
                continue
            }
            #expect(reason.hasPrefix("\(order[index]):"), "\(reason)")
        }
    }

    @Test func valuesThatAreNotUTF8AreRejected() {
        for field in ["id", "token", "tokens", "topic", "condition", "group", "audience", "op", "format", "delivery"] {
            var fields = EntryBuilder.fields(["message": "{}"]).filter { $0.name == "message" }
            if !["token", "tokens", "topic", "condition", "group", "audience"].contains(field) {
                fields.append(("token", Array("a".utf8)))
            }
            fields.append((field, [0xFF, 0xC0]))
            guard case .reject(_, let reason) = EntryBuilder.validator().decide(entryID: "1-1", fields: fields) else {
                Issue.record("\(field) accepted")
                continue
            }
            #expect(reason.hasPrefix(field), "\(reason)")
        }
    }
}
