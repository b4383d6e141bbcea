import FanfareModel
import Foundation

@testable import FanfareCore

/// The JSON Schema of a job, made from the tables by which workers judge one.
enum JobSchema {
    static func text() throws -> String {
        let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try JSONSerialization.data(withJSONObject: schema, options: options)
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private static var schema: Schema {
        var messages = MessageSchemaText()
        messages.addV1("message")
        messages.addLegacy("legacyMessage")
        var definitions = messages.definitions
        definitions["token"] = SchemaText.alphabet(SchemaText.tokenAlphabet, 1...RecipientRules.tokenLength)
        return [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A Fanfare job",
            "description": "The fields of one entry of the stream fanfare:{p}:jobs. Every value is a string; those of "
                + "message, tokens and fids hold JSON, which contentSchema describes. Workers judge by more than a "
                + "schema can say, such as sizes in bytes: what this accepts may still be rejected, with a reason.",
            "type": "object",
            "properties": Dictionary(uniqueKeysWithValues: EntryField.allCases.map { ($0.rawValue, property($0)) }),
            "additionalProperties": false,
            "dependentRequired": ["tracestate": ["traceparent"]],
            "allOf": [
                [
                    "if": isOneOf("format", [MessageFormat.legacy.rawValue]),
                    "then": content(of: .message, ["$ref": "#/$defs/legacyMessage"]),
                    "else": content(of: .message, ["$ref": "#/$defs/message"]),
                ],
                [
                    "if": isOneOf("op", Operation.allCases.filter { $0 != .send }.map(\.rawValue)),
                    "else": send,
                ],
            ] + Operation.allCases.filter { $0 != .send }.map(management),
            "$defs": definitions,
        ]
    }

    private static var token: Schema { ["$ref": "#/$defs/token"] }

    /// Exhaustive: a new field of an entry does not build without its rule here.
    private static func property(_ field: EntryField) -> Schema {
        switch field {
        case .message: return ["type": "string", "contentMediaType": "application/json", "maxLength": 65_536]
        case .format: return ["enum": MessageFormat.allCases.map(\.rawValue)]
        case .token, .fid, .group: return token
        case .tokens, .fids: return SchemaText.json(["type": "array", "minItems": 1, "items": token])
        case .topic:
            let name = "[\(SchemaText.labelAlphabet)]{1,\(RecipientRules.topicLength)}"
            return ["type": "string", "pattern": "^(?:/topics/)?\(name)$"]
        case .condition: return ["type": "string", "minLength": 1, "maxLength": 8_192]
        case .audience:
            return [
                "type": "string", "maxLength": AudienceRules.keyLength, "pattern": "^[^{]*\\{[^}]+\\}",
                "not": SchemaText.noControl,
            ]
        case .audienceSize: return SchemaText.number(upTo: 1_000_000_000_000)
        case .id: return SchemaText.alphabet(SchemaText.tokenAlphabet, 1...RecipientRules.idLength)
        case .priority: return SchemaText.number(upTo: 9)
        case .notBefore: return SchemaText.number(upTo: GeneralFields.latestTime)
        case .expiresAt:
            var schema = SchemaText.number(upTo: GeneralFields.latestTime)
            schema["not"] = ["pattern": "^0*$"]
            return schema
        case .validateOnly: return SchemaText.number(upTo: 1)
        case .results: return ["enum": ResultsPolicy.allCases.map(\.rawValue).filter { !$0.isEmpty }]
        case .delivery: return ["enum": DeliveryMode.allCases.map(\.rawValue)]
        case .traceparent:
            let ids = "(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
            let later = "(?!00|ff)[0-9a-f]{2}-\(ids)(?:-[!-~]*)?"
            return ["type": "string", "maxLength": 256, "pattern": "^(?:00-\(ids)|\(later))$"]
        case .tracestate: return ["type": "string", "maxLength": TraceContextRules.stateLength]
        case .op: return ["enum": Operation.allCases.map(\.rawValue)]
        case .groupName:
            return [
                "type": "string", "minLength": 1, "maxLength": ManagementRules.groupNameLength,
                "not": SchemaText.noControl,
            ]
        }
    }

    private static var send: Schema {
        [
            "required": ["message"],
            "oneOf": EntryField.targets.map { ["required": [$0.rawValue]] },
            "properties": ["group_name": ["not": Schema()]],
            "if": ["required": ["audience_size"]],
            "then": ["anyOf": [["required": ["topic"]], ["required": ["condition"]]]],
        ]
    }

    private static func management(_ operation: FanfareModel.Operation) -> Schema {
        let own = ManagementRules.ownFields(operation).map(\.rawValue)
        let general = GeneralFields.names.map(\.rawValue).sorted()
        var then: Schema = ["required": own, "propertyNames": ["enum": own + general]]
        if operation.isGroupOperation, own.contains("tokens") {
            then.merge(content(of: .tokens, ["maxItems": ManagementRules.groupMembers])) { $1 }
        }
        return ["if": isOneOf("op", [operation.rawValue]), "then": then]
    }

    private static func isOneOf(_ field: String, _ values: [String]) -> Schema {
        ["properties": [field: ["enum": values]], "required": [field]]
    }

    private static func content(of field: EntryField, _ schema: Schema) -> Schema {
        ["properties": [field.rawValue: ["contentMediaType": "application/json", "contentSchema": schema]]]
    }
}
