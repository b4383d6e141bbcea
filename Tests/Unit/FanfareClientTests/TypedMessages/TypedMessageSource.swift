@testable import FanfareCore

/// The Swift source of the typed message and of its samples, made from the table by which workers judge messages.
struct TypedMessageSource {
    struct Failure: Error, CustomStringConvertible {
        var description: String
        init(_ description: String) { self.description = description }
    }

    static let header = "// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.\n"

    private struct Field {
        var name: String
        var type: String
        var meaning: String
        /// An expression that makes a value from `$0`, a `SampleSource`.
        var sample: String
        var isRequired: Bool
    }

    private var parts: [(part: PartDescription, fields: [Field])] = []
    private var choices: [String: [String]] = [:]

    init() throws {
        var schemas: [String: ObjectSchema] = [:]
        Self.collect(MessageSchema.message, "", &schemas)
        for part in PartDescription.all {
            for path in part.paths {
                guard let schema = schemas.removeValue(forKey: path) else {
                    throw Failure("the table has no object \(path)")
                }
                let fields = try fields(of: part, schema, path)
                if let known = parts.last, known.part.name == part.name {
                    guard known.fields.map(\.name) == fields.map(\.name), known.fields.map(\.type) == fields.map(\.type)
                    else { throw Failure("\(path) has other fields than \(part.name)") }
                } else {
                    parts.append((part, fields))
                }
            }
        }
        guard schemas.isEmpty else { throw Failure("no description of \(schemas.keys.sorted())") }
    }

    /// Every object of the table by its path.
    static func collect(_ schema: ObjectSchema, _ path: String, _ all: inout [String: ObjectSchema]) {
        all[path] = schema
        for (name, rule) in schema.rules {
            if case .object(let inner) = rule { collect(inner, path.isEmpty ? name : "\(path).\(name)", &all) }
        }
    }

    private mutating func fields(of part: PartDescription, _ schema: ObjectSchema, _ path: String) throws -> [Field] {
        var rules = schema.rules.filter { if case .refused = $0.value { false } else { true } }
        var fields: [Field] = []
        for (name, meaning) in part.fields {
            let place = path.isEmpty ? name : "\(path).\(name)"
            guard let rule = rules.removeValue(forKey: name) else { throw Failure("the table has no field \(place)") }
            let (type, limit, sample) = try swift(rule, name, place)
            let words = [meaning, limit].filter { !$0.isEmpty }.joined(separator: " ")
            let isRequired = schema.required.contains(name)
            fields.append(Field(name: name, type: type, meaning: words, sample: sample, isRequired: isRequired))
        }
        guard rules.isEmpty else {
            throw Failure("no description of \(rules.keys.sorted()) in \(path.isEmpty ? "message" : path)")
        }
        return fields
    }

    /// The type of a field, the sentence of its limits, and the expression of a sample.
    private mutating func swift(_ rule: FieldRule, _ name: String, _ path: String) throws -> (String, String, String) {
        switch rule {
        case .text(let rule): return try Self.text(rule, path)
        case .boolean: return ("Bool", "", "$0.flag()")
        case .integer(let range):
            guard range == Int64(Int32.min)...Int64(Int32.max) else { throw Failure("\(path): integers of \(range)") }
            return ("Int32", "", "$0.int32()")
        case .fraction: return ("Double", "0 to 1.", "$0.fraction()")
        case .choice(let words, _):
            guard let choice = PartDescription.choices.first(where: { $0.field == name }) else {
                throw Failure("no description of the words of \(path)")
            }
            guard choices.updateValue(words, forKey: choice.name) ?? words == words else {
                throw Failure("\(path) has other words than another field of its name")
            }
            return ("Message.\(choice.name)", "", "$0.choice()")
        case .array(let element):
            let (type, limit, sample) = try swift(element, name, path)
            return ("[\(type)]", limit.isEmpty ? "" : "Each: \(limit)", "$0.list { \(sample) }")
        case .texts(let rule): return ("[String: String]", "", "$0.texts(.\(rule))")
        case .object:
            guard let part = PartDescription.all.first(where: { $0.paths.contains(path) }) else {
                throw Failure("no description of the object \(path)")
            }
            return ("Message.\(part.name)", "", ".sample(&$0)")
        case .anyObject: return ("JSONObject", "", "$0.object()")
        case .textOrAnyObject, .anyData, .part, .refused:
            throw Failure("\(path) has a rule that only legacy messages have")
        }
    }

    private static func text(_ rule: TextRule, _ path: String) throws -> (String, String, String) {
        switch rule {
        case .any: return ("String", "", "$0.text()")
        case .color: return ("String", "As `#rrggbb`.", "$0.color()")
        case .analyticsLabel:
            return ("String", "1 to \(TextRules.labelLength) of `A-Z a-z 0-9 - _ . ~ %`.", "$0.label()")
        case .httpsLink: return ("String", "An `https://` URL.", #"$0.link("https")"#)
        case .image: return ("String", "An `http://` or `https://` URL.", #"$0.link("http")"#)
        case .duration(let most):
            return ("Duration", "0 to \(most) seconds, to the nanosecond.", "$0.duration(\(most))")
        case .timestamp: return ("String", "In RFC 3339, such as `2026-01-31T08:30:00Z`.", "$0.timestamp()")
        case .digits, .arrayText: throw Failure("\(path) has a rule that only legacy messages have")
        }
    }

    // MARK: The source

    /// The files of FanfareClient by name.
    var files: [(name: String, text: String)] {
        parts.map { part, fields in
            (part.name.isEmpty ? "Message.swift" : "Message.\(part.name).swift", source(part, fields))
        } + [("Message+Choices.swift", choicesSource)]
    }

    private func source(_ part: PartDescription, _ fields: [Field]) -> String {
        let type = part.name.isEmpty ? "Message" : part.name
        var lines = Self.comment(part.summary)
        lines.append("public struct \(type): Equatable, Sendable {")
        for field in fields {
            lines += Self.comment(field.meaning, 1)
            lines.append("    public var \(field.name): \(field.type)\(field.isRequired ? "" : "?")")
        }
        lines += Self.comment(
            "Members that this version of the library does not know, written as they are. Workers reject names that they do "
                + "not know.",
            1
        )
        lines += ["    public var additional: JSONObject", ""]
        lines += Self.comment(
            fields.contains { $0.isRequired }
                ? "FCM requires the fields without a default." : "A field that is left out stays absent.",
            1
        )
        lines.append("    public init(")
        lines += fields.map { "        \($0.name): \($0.type)\($0.isRequired ? "" : "? = nil")," }
        lines += ["        additional: JSONObject = [:]", "    ) {"]
        lines += (fields.map(\.name) + ["additional"]).map { "        self.\($0) = \($0)" }
        lines += ["    }", "}"]
        if !part.name.isEmpty {
            lines = ["extension Message {"] + lines.map { $0.isEmpty ? "" : "    " + $0 } + ["}"]
        }
        lines += ["", "extension \(part.name.isEmpty ? "Message" : "Message.\(type)"): MessagePart {"]
        lines += ["    var json: JSONObject {", "        var members = MemberWriter()"]
        lines += fields.map { "        members.add(\"\($0.name)\", \($0.name))" }
        lines += ["        members.add(additional: additional)", "        return members.object", "    }", "}", ""]
        return Self.header + "public import FanfareJSON\n\n" + lines.joined(separator: "\n")
    }

    private var choicesSource: String {
        var lines = ["extension Message {"]
        for choice in PartDescription.choices {
            if lines.count > 1 { lines.append("") }
            lines += Self.comment(choice.summary, 1)
            lines.append("    public enum \(choice.name): String, CaseIterable, Sendable {")
            for word in choices[choice.name] ?? [] {
                lines.append("        case \(Self.caseName(word, choice.prefix)) = \"\(word)\"")
            }
            lines.append("    }")
        }
        return Self.header + "\n" + (lines + ["}", ""]).joined(separator: "\n")
    }

    /// `ifPriorityLowered` for `IF_PRIORITY_LOWERED`, without the prefix.
    private static func caseName(_ word: String, _ prefix: String) -> String {
        let words = (word.hasPrefix(prefix) ? String(word.dropFirst(prefix.count)) : word).split(separator: "_")
        let parts = words.enumerated().map { index, word in
            index == 0 ? word.lowercased() : word.prefix(1) + word.dropFirst().lowercased()
        }
        let name = parts.joined()
        return ["default", "private", "public"].contains(name) ? "`\(name)`" : name
    }

    /// A doc comment in lines of at most 120 characters; each part stands one level deeper in the end.
    private static func comment(_ text: String, _ level: Int = 0) -> [String] {
        let start = String(repeating: "    ", count: level) + "///"
        var lines = [start]
        for word in text.split(separator: " ") {
            if (lines.last ?? "").count + 1 + word.count > 116 { lines.append(start) }
            lines[lines.count - 1] += " " + word
        }
        return lines
    }

    /// The file of the tests that makes a random value of each part.
    var samples: String {
        var lines = ["import FanfareClient", "", "@testable import FanfareCore", ""]
        for (part, fields) in parts {
            lines.append("extension \(part.name.isEmpty ? "Message" : "Message.\(part.name)"): Sampled {")
            lines.append("    static func sample(_ source: inout SampleSource) -> Self {")
            lines.append(fields.isEmpty ? "        Self()" : "        Self(")
            for (index, field) in fields.enumerated() {
                let call = field.isRequired ? "required" : "optional"
                let end = index == fields.count - 1 ? "" : ","
                lines.append("            \(field.name): source.\(call) { \(field.sample) }\(end)")
            }
            lines += (fields.isEmpty ? [] : ["        )"]) + ["    }", "}", ""]
        }
        return Self.header + lines.dropLast().joined(separator: "\n") + "\n"
    }
}
