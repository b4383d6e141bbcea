import FanfareJSON
import Foundation

@testable import FanfareCore
@testable import FanfareTemplate

/// The rules of a message, which are tables, as JSON Schema. Each kind of object is a definition of its own, which both
/// spellings of a field refer to.
struct MessageSchemaText {
    /// By name, such as `message.android`.
    private(set) var definitions: Schema = [:]

    private mutating func schema(_ rule: FieldRule, _ name: String) -> Schema {
        switch rule {
        case .text(.any): return SchemaText.schema(.any)
        case .text(.arrayText): return SchemaText.schema(.arrayText)
        case .text(let rule): return Self.placeholder(or: SchemaText.schema(rule), name)
        case .boolean: return ["type": "boolean"]
        case .integer(let range):
            return ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
        case .fraction: return ["type": "number", "minimum": 0, "maximum": 1]
        case .choice(let names, let anyCase):
            let known = anyCase ? names + names.map { $0.lowercased() } : names
            return Self.placeholder(or: ["type": "string", "enum": known], name)
        case .array(let rule): return ["type": "array", "items": schema(rule, name)]
        case .texts(let rule): return define(name, Self.texts(rule))
        case .object(let object): return define(name, schema(object, name))
        case .anyObject: return ["type": "object"]
        case .textOrAnyObject: return ["type": ["string", "object"]]
        case .anyData:
            return [
                "type": "object", "propertyNames": Self.dataName,
                "additionalProperties": ["type": ["string", "number", "boolean", "array", "object"]],
            ]
        // A project's transport is not the job's to say.
        case .part(_, let rule): return schema(rule, name)
        case .refused: return ["not": Schema()]
        }
    }

    /// In a personal job, a text with a placeholder has any format. The schema does not know which jobs are personal.
    ///
    /// - Parameter name: of the field, such as `message.android.notification.color`.
    private static func placeholder(or schema: Schema, _ name: String) -> Schema {
        let keys = name.split(separator: ".").dropFirst().map(String.init)
        guard PlaceholderPaths.allow(keys) else { return schema }
        return ["type": "string", "anyOf": [schema, ["pattern": #"\{\{"#]]]
    }

    private mutating func define(_ name: String, _ schema: Schema) -> Schema {
        definitions[name] = schema
        return ["$ref": "#/$defs/\(name)"]
    }

    private mutating func schema(_ object: ObjectSchema, _ name: String) -> Schema {
        var properties: Schema = [:]
        for (field, rule) in object.rules {
            let schema = schema(rule, "\(name).\(field)")
            let value = object.isProtobuf ? Self.nullable(schema) : schema
            for spelling in Self.spellings(field, object) { properties[spelling] = value }
        }
        var schema: Schema = ["type": "object", "properties": properties, "additionalProperties": false]
        if !object.required.isEmpty {
            schema["allOf"] = object.required.map { name in
                ["anyOf": Self.spellings(name, object).map { ["required": [$0]] }]
            }
        }
        return schema
    }

    /// `androidV2` with `android` is refused, unless one of them is null.
    mutating func addV1(_ name: String) {
        var schema = schema(MessageSchema.message, name)
        schema["allOf"] = Self.spellings("androidV2", MessageSchema.message).map { second in
            let both: Schema = ["android": ["type": "object"], second: ["type": "object"]]
            return ["not": ["properties": both, "required": ["android", second]]]
        }
        _ = define(name, schema)
    }

    mutating func addLegacy(_ name: String) { _ = define(name, schema(LegacySchema.message, name)) }

    private static func spellings(_ name: String, _ object: ObjectSchema) -> [String] {
        let snake = FieldName.snake(name)
        return object.isProtobuf && snake != name ? [name, snake] : [name]
    }

    /// To protobuf, `null` is the same as absent.
    private static func nullable(_ schema: Schema) -> Schema {
        if schema["$ref"] != nil { return ["anyOf": [schema, ["type": "null"]]] }
        guard let type = schema["type"] as? String else { return schema }
        var result = schema
        result["type"] = [type, "null"]
        if let names = schema["enum"] as? [String] { result["enum"] = names.map { $0 as Any } + [NSNull()] }
        return result
    }

    private static var dataName: Schema { ["not": ["pattern": "^(?:from$|message_type$|google|gcm)"]] }

    private static func texts(_ rule: TextsRule) -> Schema {
        switch rule {
        case .data:
            return ["type": "object", "propertyNames": dataName, "additionalProperties": ["type": "string"]]
        case .webPushHeaders:
            return headers([
                "ttl": SchemaText.number(upTo: MessageSchema.maximumLifetime),
                "urgency": ["enum": ["very-low", "low", "normal", "high"]],
                "topic": SchemaText.alphabet("A-Za-z0-9_-", 1...HeaderRules.webTopicLength),
            ])
        case .apnsHeaders:
            return headers([
                "apns-priority": ["enum": ["1", "5", "10"]],
                "apns-expiration": SchemaText.number(upTo: GeneralFields.latestTime / 1_000),
                "apns-collapse-id": ["maxLength": HeaderRules.collapseIDLength],
            ])
        }
    }

    /// Names of header fields count in any case.
    private static func headers(_ known: [String: Schema]) -> Schema {
        var patterns: Schema = ["": ["type": "string", "not": SchemaText.noControl]]
        for (name, schema) in known {
            let anyCase = name.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : "\($0)" }.joined()
            patterns["^\(anyCase)$"] = schema
        }
        return [
            "type": "object", "propertyNames": ["pattern": "^[A-Za-z0-9!#$%&'*+.^`|~_-]+$"],
            "patternProperties": patterns,
        ]
    }
}
