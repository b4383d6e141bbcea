internal import FanfareJSON
internal import FanfareModel

/// The JSON Schema (draft-07) of the configuration file, generated from the table of all settings.
///
/// It holds the rule of each setting alone. ``Configuration/load(file:source:environment:flags:)`` also compares settings
/// with each other and with `allowed_hosts`.
public enum SettingSchema {
    /// The schema as indented JSON, with a line feed at its end.
    public static var text: String {
        var lines = ""
        append(json, indent: 0, to: &lines)
        return lines + "\n"
    }

    static var json: JSONValue {
        var root = Section()
        for setting in Settings.all {
            root.insert(setting, at: setting.path.split(separator: ".").map(String.init)[...])
        }
        var object: JSONObject = [
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Configuration of Fanfare (fanfare.yaml)",
        ]
        object.members += root.json.members
        object["patternProperties"] = .object(["^\(ConfigurationFile.ownPrefix)": true])
        return .object(object)
    }

    /// A mapping of the file, with its keys in the order of the table.
    private struct Section {
        private var keys: [String] = []
        private var settings: [String: Setting] = [:]
        private var sections: [String: Section] = [:]

        mutating func insert(_ setting: Setting, at path: ArraySlice<String>) {
            guard let key = path.first else { return }
            if !keys.contains(key) { keys.append(key) }
            if path.count == 1 {
                settings[key] = setting
            } else {
                sections[key, default: Section()].insert(setting, at: path.dropFirst())
            }
        }

        var json: JSONObject {
            var properties = JSONObject()
            var patterns = JSONObject()
            for key in keys {
                let value = settings[key].map(SettingSchema.json) ?? .object(sections[key]?.json ?? [:])
                // The star stands for the id of a project.
                if key == "*" { patterns["^\(ProjectID.pattern)$"] = value } else { properties[key] = value }
            }
            // An empty file is a configuration too, and so is an empty section.
            var object: JSONObject = ["type": .array(["object", "null"])]
            if !patterns.isEmpty {
                object["maxProperties"] = .number(JSONNumber(Int64(ConfigurationFile.maximumProjects)))
                object["patternProperties"] = .object(patterns)
            }
            if !properties.isEmpty { object["properties"] = .object(properties) }
            object["additionalProperties"] = false
            return object
        }
    }

    private static func json(_ setting: Setting) -> JSONValue {
        var object: JSONObject = ["description": .string(setting.help)]
        object.members += rule(of: setting.kind).members
        if !setting.defaultText.isEmpty { object["default"] = value(setting.defaultText, setting.kind) }
        let examples = examples(of: setting.kind)
        if !examples.isEmpty { object["examples"] = .array(examples) }
        return .object(object)
    }

    /// A kind that is not named here is a text.
    private static func rule(of kind: Setting.Kind) -> JSONObject {
        func text(_ pattern: String) -> JSONObject {
            ["type": "string", "pattern": .string(pattern), "maxLength": 4_096]
        }
        switch kind {
        case .integer(let range):
            return [
                "type": "integer", "minimum": .number(JSONNumber(range.lowerBound)),
                "maximum": .number(JSONNumber(range.upperBound)),
            ]
        case .choice(["false", "true"]): return ["type": "boolean"]
        case .choice(let choices): return ["enum": .array(choices.map { .string($0) })]
        case .digits: return ["type": .array(["string", "integer"]), "pattern": "^[0-9]{1,32}$", "minimum": 0]
        case .origin: return text("^https://[^/?#@\\s]+/?$")
        case .collector: return text("^https?://[^/?#@\\s]+(/[^?#\\s]*)?$")
        case .proxy: return text("^http://([^/?#\\s]+@)?[^/?#@\\s]+/?$")
        case .redisURL: return text("^(rediss?|rediss?-sentinel|rediss?-cluster|unix)://")
        case .address: return text("^(unix:(//)?/.+|.+:[0-9]{1,5})$")
        case .host: return text("^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])$")
        case .hosts:
            return ["type": "array", "items": .object(text("^[A-Za-z0-9][A-Za-z0-9.-]*$"))]
        case .sizes:
            return [
                "type": "object", "propertyNames": .object(["pattern": "^[A-Za-z0-9_.~%-]{1,900}$"]),
                "additionalProperties": .object(["type": "integer", "minimum": 0, "maximum": 1_000_000_000_000]),
            ]
        default: return ["type": "string", "minLength": 1, "maxLength": 4_096]
        }
    }

    private static func examples(of kind: Setting.Kind) -> [JSONValue] {
        switch kind {
        case .proxy: ["http://127.0.0.1:3128"]
        case .collector: ["http://127.0.0.1:4318"]
        case .address: ["127.0.0.1:9464", "unix:///run/fanfare/admin.sock"]
        case .hosts: [.array(["gateway.example.com"])]
        case .sizes: [.object(["news": 1_200_000])]
        default: []
        }
    }

    private static func value(_ text: String, _ kind: Setting.Kind) -> JSONValue {
        switch kind {
        case .integer: Int64(text).map { .number(JSONNumber($0)) } ?? .string(text)
        case .choice(["false", "true"]): .bool(text == "true")
        default: .string(text)
        }
    }

    // MARK: Text

    /// Appends a value with two spaces for each level. Values without inner mappings stay on one line.
    private static func append(_ value: JSONValue, indent: Int, to text: inout String) {
        guard let object = value.object, !isShort(object) else { return text += value.jsonText }
        let inner = String(repeating: "  ", count: indent + 1)
        text += "{\n"
        for (index, member) in object.members.enumerated() {
            text += inner + JSONValue.string(member.key).jsonText + ": "
            append(member.value, indent: indent + 1, to: &text)
            text += index == object.count - 1 ? "\n" : ",\n"
        }
        text += inner.dropLast(2) + "}"
    }

    private static func isShort(_ object: JSONObject) -> Bool {
        object.count <= 3 && object.members.allSatisfy { $0.value.object == nil && $0.value.array == nil }
    }
}
