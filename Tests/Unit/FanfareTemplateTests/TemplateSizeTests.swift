import FanfareJSON
import FanfareTemplate
import Testing

@Suite struct TemplateSizeTests {
    /// Totals with every kind of rule that message sizes have: data whose members that are not strings count with their
    /// JSON text, a tree of texts, and a notification that is merged by the presence of members.
    static func measure(_ message: JSONObject) -> [Int] {
        let data = message["data"]?.object ?? [:]
        let common = message["notification"]?.object ?? [:]
        let own = message["android"]?.object?["notification"]?.object ?? [:]
        let dataSize = data.members.reduce(0) {
            $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? $1.value.jsonBytes.count)
        }
        let inherited = JSONObject(common.members.filter { own[$0.key] == nil })
        return [dataSize, textSize(.object(common)), dataSize + textSize(.object(inherited)) + textSize(.object(own))]
    }

    private static func textSize(_ value: JSONValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + textSize($1) }
        case .object(let object): object.members.reduce(0) { $0 + $1.key.utf8.count + textSize($1.value) }
        case .null, .bool, .number: value.jsonBytes.count
        }
    }

    static let message: JSONObject = [
        "data": ["k": "{{a}}{{b|xyz}}{{{{", "o": ["deep": ["{{a}}", "\n{{c|\"}}"]], "n": 12],
        "notification": ["title": "{{a}}{{a}}", "body": "{{c|é}} {{c|éé}}"],
        "android": ["notification": ["title": "own {{b|}}", "sticky": true], "collapse_key": "x"],
    ]

    static let values: [[(String, String)]] = [
        [("a", "")], [("a", "x")], [("a", "\"\\\n\u{0}é😀")], [("a", "x"), ("b", "longer than the fallback")],
        [("a", "\""), ("b", "\u{1}"), ("c", "\\\\")], [("z", "unknown"), ("c", "ccc"), ("a", "1")],
        [("a", String(repeating: "é\n", count: 300)), ("c", String(repeating: "\u{1}", count: 1_024))],
    ]

    /// The message with its placeholders replaced, without any of the target's types.
    static func filled(_ value: JSONValue, _ values: [(String, String)]) -> JSONValue {
        switch value {
        case .string(let text):
            var text = text
            for (name, value) in values {
                for fallback in ["", "|", "|xyz", "|\"", "|é", "|éé"] {
                    text = text.split(separator: "{{\(name)\(fallback)}}", omittingEmptySubsequences: false)
                        .joined(separator: value)
                }
            }
            for (placeholder, fallback) in [
                ("{{b|xyz}}", "xyz"), ("{{b|}}", ""), ("{{c|\"}}", "\""), ("{{c|é}}", "é"), ("{{c|éé}}", "éé"),
                ("{{{{", "{{"),
            ] {
                text = text.split(separator: placeholder, omittingEmptySubsequences: false).joined(separator: fallback)
            }
            return .string(text)
        case .array(let elements): return .array(elements.map { filled($0, values) })
        case .object(let object):
            return .object(
                JSONObject(object.members.map { JSONObject.Member(key: $0.key, value: filled($0.value, values)) })
            )
        case .null, .bool, .number: return value
        }
    }

    @Test(arguments: values)
    func sizesEqualThoseOfTheRenderedMessage(values: [(String, String)]) throws {
        let size = TemplateSize(Self.message, measure: Self.measure)
        let variables = SplicedTemplateTests.variables(values)
        let rendered = try #require(Self.filled(.object(Self.message), values).object)
        let expected = Self.measure(rendered)
        #expect((0..<size.count).map { size.size($0, of: variables) } == expected)
        #expect(size.largest(of: variables) == expected.max())
    }

    @Test func eachTotalCanBeTheLargest() throws {
        let message: JSONObject = ["data": ["k": "{{a|}}"], "notification": ["t": "{{b|}}"]]
        let size = TemplateSize(message) { message in
            [message["data"], message["notification"]].map { $0?.object?.members.first?.value.string?.utf8.count ?? 0 }
        }
        #expect(size.largest(of: SplicedTemplateTests.variables([("a", "xxx"), ("b", "y")])) == 3)
        #expect(size.largest(of: SplicedTemplateTests.variables([("a", "x"), ("b", "yyyy")])) == 4)
        #expect(size.largest(of: []) == 0)
    }

    @Test func measureIsCalledThreeTimesForEachName() {
        var calls = 0
        _ = TemplateSize(Self.message) { _ in
            calls += 1
            return []
        }
        #expect(calls == 1 + 3 * 3)
    }
}
