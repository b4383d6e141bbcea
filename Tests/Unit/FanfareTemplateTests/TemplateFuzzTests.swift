import FanfareJSON
import FanfareModel
import FanfareTemplate
import Foundation
import Testing

/// Seeded messages and recipients, rendered by Fanfare and by plain replacement in Foundation.
@Suite struct TemplateFuzzTests {
    @Test(arguments: UInt64(1)...8)
    func grammarAgreesWithARegularExpression(seed: UInt64) throws {
        var random = TemplateGenerator(state: seed)
        let oracle = try Replacement()
        var accepted = 0
        for _ in 0..<3_000 {
            let text = random.below(3) == 0 ? random.template() : random.braces()
            let ours = try? PlaceholderText(text).filled { "<\($0)\($1.map { "|" + $0 } ?? "")>" }
            let theirs = oracle.fill(text) { "<\($0)\($1.map { "|" + $0 } ?? "")>" }
            #expect(ours.map { Array($0.utf8) } == theirs.map { Array($0.utf8) }, "\(text)")
            accepted += ours == nil ? 0 : 1
        }
        #expect((1_000..<2_900).contains(accepted))
    }

    @Test(arguments: UInt64(1)...10)
    func renderedBytesEqualPlainReplacement(seed: UInt64) throws {
        var random = TemplateGenerator(state: seed &* 1_000)
        let oracle = try Replacement()
        var rendered = 0
        for _ in 0..<2_000 {
            let message = random.message { oracle.fill($0) { _, _ in "" } != nil }
            let (values, json) = random.recipient()
            let names = try PlaceholderPaths.check(message, at: "message").map(\.text)
            let bytes = Array(json.utf8)
            let element = try RecipientElement(bytes.indices, of: bytes)
            #expect(element.fault == nil, "\(json)")

            let template = try SplicedTemplate<JSONSplicing>(JSONValue.object(message).jsonBytes)
            var body: [UInt8] = []
            var missing: String?
            do throws(TemplateFault) { try template.render(element.variables, into: &body) } catch {
                missing = error.path
            }
            var (lacks, used): (String?, Set<String>) = (nil, [])
            let expected = try Self.replaced(message) { text in
                oracle.fill(text) { name, fallback in
                    used.insert(name)
                    if values[name] == nil, fallback == nil, lacks == nil { lacks = "vars.\(name)" }
                    return values[name] ?? fallback ?? ""
                }
            }
            #expect(missing == lacks)
            #expect(Set(names) == used)
            guard lacks == nil else { continue }
            rendered += 1
            let object = try JSONSerialization.jsonObject(with: Data(body))
            #expect(Self.equal(object, expected), "\(String(decoding: body, as: UTF8.self))")
            // The bytes are what Fanfare writes for the same message.
            #expect(try JSONParser.parse(body).jsonBytes == body)
            if rendered % 8 == 0 { try Self.checkSizes(message, element, body) }
        }
        #expect(rendered > 500)
    }

    @Test(arguments: UInt64(1)...8)
    func compactLineIsTheSameRecipient(seed: UInt64) throws {
        var random = TemplateGenerator(state: seed &* 77)
        for _ in 0..<500 {
            let (values, json) = random.recipient()
            let bytes = Array(json.utf8)
            let element = try RecipientElement(bytes.indices, of: bytes)
            var line: [UInt8] = []
            element.appendCompact(to: &line)
            let again = try RecipientElement(line.indices, of: line)
            #expect(again.variables == element.variables)
            #expect(line.count <= bytes.count)
            #expect(!line.contains(0x0A))
            let read = element.variables.map { ($0.name.text, Array($0.value.unescaped)) }
            #expect(read.count == values.count)
            #expect(read.allSatisfy { name, value in values[name].map { Array($0.utf8) } == value })
        }
    }

    @Test(arguments: UInt64(1)...4)
    func formEqualsPlainReplacement(seed: UInt64) throws {
        var random = TemplateGenerator(state: seed &* 31)
        let oracle = try Replacement()
        for _ in 0..<500 {
            let text = random.template()
            let values = random.recipient().values
            guard let expected = oracle.fill(text, { values[$0] ?? $1 ?? "" }) else { continue }
            let encoded = try #require(text.addingPercentEncoding(withAllowedCharacters: Self.unreserved))
            let template = try SplicedTemplate<FormSplicing>(Array(encoded.utf8))
            var body: [UInt8] = []
            do throws(TemplateFault) {
                try template.render(SplicedTemplateTests.variables(values.map { ($0, $1) }), into: &body)
            } catch { continue }
            let form = String(decoding: body, as: UTF8.self)
            #expect(form == expected.addingPercentEncoding(withAllowedCharacters: Self.unreserved))
        }
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )

    private static func checkSizes(_ message: JSONObject, _ element: RecipientElement, _ body: [UInt8]) throws {
        let size = TemplateSize(message, measure: TemplateSizeTests.measure)
        let rendered = try #require(try JSONParser.parse(body).object)
        let expected = TemplateSizeTests.measure(rendered)
        #expect((0..<size.count).map { size.size($0, of: element.variables) } == expected)
        #expect(size.largest(of: element.variables) == expected.max())
    }

    /// The message as Foundation's objects, each string replaced.
    private static func replaced(_ message: JSONObject, _ fill: (String) -> String?) throws -> Any {
        func object(_ value: JSONValue) throws -> Any {
            switch value {
            case .string(let text): return try #require(fill(text)) as NSString
            case .number(let number): return NSNumber(value: number.int64 ?? 0)
            case .array(let elements): return try elements.map(object) as NSArray
            case .object(let members):
                let dictionary = NSMutableDictionary()
                for member in members.members { dictionary[member.key as NSString] = try object(member.value) }
                return dictionary
            case .bool(let flag): return NSNumber(value: flag)
            case .null: return NSNull()
            }
        }
        return try object(.object(message))
    }

    /// Strings are compared by their UTF-8: Swift takes `é` and `e` with an accent for equal.
    private static func equal(_ one: Any, _ other: Any) -> Bool {
        switch (one, other) {
        case (let one as [String: Any], let other as [String: Any]):
            one.count == other.count && one.allSatisfy { key, value in other[key].map { equal(value, $0) } ?? false }
        case (let one as [Any], let other as [Any]): one.count == other.count && zip(one, other).allSatisfy(equal)
        case (let one as String, let other as String): Array(one.utf8) == Array(other.utf8)
        case (let one as NSNumber, let other as NSNumber): one == other
        default: one is NSNull && other is NSNull
        }
    }
}

/// The grammar of placeholders as one regular expression, and replacement by Foundation.
private struct Replacement {
    private let expression: NSRegularExpression

    init() throws {
        // A doubled opening, a placeholder, or braces that are neither.
        let name = "[A-Za-z_][A-Za-z0-9_]{0,31}"
        let fallback = #"(?:\{\{\{\{|(?!\{\{|\}\}).)*+"#
        expression = try NSRegularExpression(
            pattern: #"(?s)\{\{\{\{|\{\{(\#(name))(?:\|(\#(fallback)))?\}\}|\{\{"#
        )
    }

    /// The text with its placeholders replaced; nil if one is malformed.
    func fill(_ text: String, _ value: (String, String?) -> String) -> String? {
        let source = text as NSString
        let result = NSMutableString(string: "")
        var end = 0
        for match in expression.matches(in: text, range: NSRange(location: 0, length: source.length)) {
            result.append(source.substring(with: NSRange(location: end, length: match.range.location - end)))
            end = match.range.location + match.range.length
            guard match.range(at: 1).location != NSNotFound else {
                guard match.range.length == 4 else { return nil }
                result.append("{{")
                continue
            }
            let range = match.range(at: 2)
            let fallback = range.location == NSNotFound ? nil : source.substring(with: range)
            let plain = fallback?.replacingOccurrences(of: "{{{{", with: "{{", options: .literal)
            result.append(value(source.substring(with: match.range(at: 1)), plain))
        }
        result.append(source.substring(from: end))
        return String(result)
    }
}
