import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareTemplate

/// Values within XML-escaped JSON, as a caller outside the target writes an encoding.
enum XMLSplicing: SpliceEncoding {
    static var marks: PlaceholderMarks { .plain }

    static func count(of value: TemplateValue, isEmbedded: Bool) -> Int { xml(value).count }

    static func put(_ value: TemplateValue, isEmbedded: Bool, to span: inout OutputSpan<UInt8>) {
        for byte in xml(value) { span.append(byte) }
    }

    private static func xml(_ value: TemplateValue) -> [UInt8] { escape(value.escaped.string) }

    static func escape(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte in
            switch byte {
            case UInt8(ascii: "\""): Array("&quot;".utf8)
            case UInt8(ascii: "<"): Array("&lt;".utf8)
            default: [byte]
            }
        }
    }
}

@Suite struct SplicedTemplateTests {
    static func variables(_ values: [(String, String)]) -> [TemplateVariable] {
        values.compactMap { name, value in
            PlaceholderName(name.utf8).map { TemplateVariable($0, TemplateValue(value)) }
        }
    }

    static func render<Encoding: SpliceEncoding>(
        _ text: String,
        _ encoding: Encoding.Type,
        _ values: [(String, String)]
    ) throws -> String {
        let template = try SplicedTemplate<Encoding>(Array(text.utf8))
        var body = Array("head".utf8)
        try template.render(variables(values), into: &body)
        #expect(try template.count(of: variables(values)) == body.count - 4)
        #expect(body.starts(with: Array("head".utf8)))
        return String(decoding: body.dropFirst(4), as: UTF8.self)
    }

    static let json: [(String, [(String, String)], String)] = [
        (#","data":{"k":"v"}}"#, [("a", "x")], #","data":{"k":"v"}}"#), ("", [], ""),
        (#"{"k":"{{a}}"}"#, [("a", "x")], #"{"k":"x"}"#), (#"{"k":"{{a}}"}"#, [("b", "y"), ("a", "x")], #"{"k":"x"}"#),
        (#"{"k":"{{a}}{{b}}{{a}}"}}"#, [("a", "x"), ("b", "")], #"{"k":"xx"}}"#),
        (#"{"k":"{{a}}"}"#, [("a", "\"\\\n\u{0}é😀")], #"{"k":"\"\\\n\u0000é😀"}"#),
        (#"{"k":"{{a|fall\"back}}!"}"#, [], #"{"k":"fall\"back!"}"#),
        (#"{"k":"{{a|fall\"back}}!"}"#, [("a", "")], #"{"k":"!"}"#),
        (#"{"k":"{{a|}}"}"#, [], #"{"k":""}"#), (#"{"k":"{{a|x|y}}}"}"#, [], #"{"k":"x|y}"}"#),
        (#"{"k":"{{{{a}}}} {{{{{{a}}"}"#, [("a", "x")], #"{"k":"{{a}}}} {{x"}"#),
        (#"{"k":"{{a|{{{{}}"}"#, [], #"{"k":"{{"}"#),
        // A value is never read again.
        (#"{"k":"{{a}}{{b}}"}"#, [("a", "{{b}}"), ("b", "{{{{")], #"{"k":"{{b}}{{{{"}"#),
        // Names that are prefixes of each other.
        (
            #"{"k":"{{n}}{{na}}{{nam}}{{name}}{{names|no}}"}"#, [("name", "4"), ("nam", "3"), ("n", "1"), ("na", "2")],
            #"{"k":"1234no"}"#
        ),
        // One value twice as JSON text within a string.
        (
            #"{"k":"{\"x\":\"{{:a}}\"}","l":"{{a}}"}"#, [("a", "\"\n\\")],
            #"{"k":"{\"x\":\"\\\"\\n\\\\\"}","l":"\"\n\\"}"#
        ),
        (#"{"k":"[\"{{:a|\\n}}\"]"}"#, [], #"{"k":"[\"\\n\"]"}"#),
    ]

    @Test(arguments: json)
    func valuesAreSplicedIntoJSON(text: String, values: [(String, String)], expected: String) throws {
        #expect(try Self.render(text, JSONSplicing.self, values) == expected)
    }

    static let form: [(String, [(String, String)], String)] = [
        ("&data.k=Hi%20%7B%7Bname%7D%7D%21", [("name", "Ana")], "&data.k=Hi%20Ana%21"),
        ("&data.k=%7B%7Ba%7D%7D", [("a", "é \"\n&~-._+%")], "&data.k=%C3%A9%20%22%0A%26~-._%2B%25"),
        ("&data.k=%7B%7Ba%7Cb%26%7D%7D", [], "&data.k=b%26"), ("&k=%7B%7Ba%7Cb%7D%7D%7D", [("a", "")], "&k=%7D"),
        ("&k=%7B%7B%7B%7Ba%7D%7D", [("a", "x")], "&k=%7B%7Ba%7D%7D"),
        ("&k=%7B%22x%22%3A%22%7B%7B%3Aa%7D%7D%22%7D", [("a", "\"")], "&k=%7B%22x%22%3A%22%5C%22%22%7D"),
        ("&k=%257B%257Ba%257D%257D", [], "&k=%257B%257Ba%257D%257D"),
    ]

    @Test(arguments: form)
    func valuesAreSplicedIntoForms(text: String, values: [(String, String)], expected: String) throws {
        #expect(try Self.render(text, FormSplicing.self, values) == expected)
    }

    @Test func encodingOfTheCallerWritesValuesAndFallbacks() throws {
        let json = #"{"k":"{{a}} {{b|<\"}}"}"#
        let text = String(decoding: XMLSplicing.escape(json), as: UTF8.self)
        #expect(
            try Self.render(text, XMLSplicing.self, [("a", "<\"")])
                == #"{&quot;k&quot;:&quot;&lt;\&quot; &lt;\&quot;&quot;}"#
        )
    }

    @Test func missingValueIsNamedAndNothingIsAppended() throws {
        let template = try SplicedTemplate<JSONSplicing>(Array(#"{"k":"{{a|x}}{{b}}{{c}}"}"#.utf8))
        var body = Array("head".utf8)
        #expect(throws: TemplateFault("vars.b", "missing")) {
            try template.render(Self.variables([("a", "1")]), into: &body)
        }
        #expect(throws: TemplateFault("vars.c", "missing")) {
            try template.render(Self.variables([("b", "1")]), into: &body)
        }
        #expect(TemplateFault("vars.b", "missing").reason == "vars.b: missing")
        #expect(body == Array("head".utf8))
    }

    @Test(arguments: ["{{a", "{{ a}}", "{{a|{{b}}}}"])
    func malformedTextDoesNotCompile(text: String) {
        #expect(throws: PlaceholderError.self) { try SplicedTemplate<JSONSplicing>(Array(text.utf8)) }
    }

    @Test func constantTextHasNoSlots() throws {
        #expect(try SplicedTemplate<JSONSplicing>(Array(#"{"k":"{{{{a}}"}"#.utf8)).slots.isEmpty)
        #expect(try !SplicedTemplate<JSONSplicing>(Array(#"{"k":"{{a|b}}"}"#.utf8)).slots.isEmpty)
    }

    /// The reason why braces side by side are found without reading JSON.
    @Test(arguments: [
        #"{"a":{"b":{}},"c":[{},{"d":{}},[{}]]}"#, #"[{"a":[{"b":{"c":{}}}]},[[{}]],{}]"#,
    ])
    func compactJSONHasNoBracesSideBySideOutsideStrings(text: String) throws {
        let spaced = text.map { "\($0) " }.joined()
        let compact = try JSONParser.parse(Array(spaced.utf8)).jsonText
        #expect(!PlaceholderText.hasBraces(compact))
        #expect(try Self.render(compact, JSONSplicing.self, []) == compact)
    }

    @Test func embeddedPlaceholdersAreMarkedInEveryString() throws {
        let value: JSONValue = ["{{a}}", ["k": "é{{a|x}}{{{{{{b|{{{{}}"], "{{{{", "{{bad", 7]
        #expect(
            EmbeddedPlaceholders.marked(value)
                == ["{{:a}}", ["k": "é{{:a|x}}{{{{{{:b|{{{{}}"], "{{{{", "{{bad", 7]
        )
        // The producer wrote an object, and the message carries it as JSON text.
        let inner: JSONValue = ["k": "{{a}} {{b|\"}}"]
        let message: JSONValue = ["data": ["o": .string(EmbeddedPlaceholders.marked(inner).jsonText)]]
        let body = try Self.render(message.jsonText, JSONSplicing.self, [("a", "\"\\\u{1}")])
        let text = try #require(try JSONParser.parse(Array(body.utf8)).object?["data"]?.object?["o"]?.string)
        #expect(try JSONParser.parse(Array(text.utf8)) == ["k": "\"\\\u{1} \""])
    }
}
