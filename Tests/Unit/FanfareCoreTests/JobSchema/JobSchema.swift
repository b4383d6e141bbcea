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
            "description":
                "The fields of one entry of the stream fanfare:{p}:jobs. Every value is a string; the values of "
                + "message, variants, tokens, fids and recipients hold JSON, which contentSchema describes. Workers "
                + "check more than a schema can say, such as sizes in bytes: what this accepts may still be rejected, "
                + "with a reason.",
            "type": "object",
            "properties": Dictionary(uniqueKeysWithValues: EntryField.allCases.map { ($0.rawValue, property($0)) }),
            "additionalProperties": false,
            "dependentRequired": ["tracestate": ["traceparent"], "canary_wait_ms": ["canary"]],
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

    private static var recipient: Schema {
        [
            "type": "object",
            "properties": ["token": token, "fid": token, "vars": ["type": "object"], "variant": ["type": "string"]],
            "additionalProperties": false,
            "oneOf": [["required": ["token"]], ["required": ["fid"]]],
        ]
    }

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
        // 12 to 14 digits: `Job.times`.
        case .notBefore, .expiresAt: return ["type": "string", "pattern": "^0*[1-9][0-9]{11,13}$"]
        case .validateOnly: return SchemaText.number(upTo: 1)
        case .results: return ["enum": ResultsPolicy.allCases.map(\.rawValue).filter { !$0.isEmpty }]
        case .delivery: return ["enum": DeliveryMode.allCases.map(\.rawValue)]
        case .traceparent:
            let ids = "(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
            let later = "(?!00|ff)[0-9a-f]{2}-\(ids)(?:-[!-~]*)?"
            return ["type": "string", "maxLength": 256, "pattern": "^(?:00-\(ids)|\(later))$"]
        case .tracestate: return ["type": "string", "maxLength": TraceContextRules.stateLength]
        case .op: return ["enum": Operation.allCases.map(\.rawValue)]
        case .recipients: return SchemaText.json(["type": "array", "minItems": 1, "items": recipient])
        case .audienceFormat: return ["enum": AudienceFormat.allCases.map(\.rawValue)]
        case .variants:
            let most = PersonalMessageChecker.maximumVariants
            let variant: Schema = ["type": "object"]
            return SchemaText.json(["type": "object", "maxProperties": most, "additionalProperties": variant])
        case .rate: return SchemaText.positiveNumber(upTo: JobRate.range.upperBound)
        case .canary:
            let count = SchemaText.digits(upTo: Canary.countRange.upperBound)
            return ["type": "string", "pattern": "^(?:\(count)|\(SchemaText.share))$", "not": ["pattern": "^0*$"]]
        case .canaryWait: return SchemaText.positiveNumber(upTo: Canary.waitRange.upperBound)
        case .stopIf:
            let measures = StopMeasure.allCases.map(\.rawValue).joined(separator: "|")
            let condition = " *(?:\(measures)) *> *\(SchemaText.share) *"
            let conditions = "^\(condition)(?:;\(condition))*$"
            return ["type": "string", "maxLength": StopConditions.maximumLength, "pattern": conditions]
        case .sendWindow:
            let time = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
            let part = "[A-Za-z0-9_+-]+"
            return [
                "type": "string", "maxLength": 12 + SendWindow.maximumZoneLength,
                "pattern": "^\(time)-(?:\(time)|24:00) \(part)(?:/\(part))*$",
            ]
        case .groupName:
            return [
                "type": "string", "minLength": 1, "maxLength": ManagementRules.groupNameLength,
                "not": SchemaText.noControl,
            ]
        }
    }

    private static var send: Schema {
        let json = isOneOf(EntryField.audienceFormat.rawValue, [AudienceFormat.json.rawValue])
        let lists: [EntryField] = [.tokens, .fids, .recipients, .audience]
        return [
            "required": ["message"],
            "oneOf": EntryField.targets.map(given),
            "properties": ["group_name": ["not": Schema()]],
            "allOf": [
                only([.audienceSize], with: [given(.topic), given(.condition)]),
                only([.audienceFormat], with: [given(.audience)]),
                only([.variants], with: [given(.recipients), json]),
                only(EntryField.listGuards, with: lists.map(given)),
            ],
        ]
    }

    /// Any of the fields only where one of the schemas holds.
    private static func only(_ fields: [EntryField], with schemas: [Schema]) -> Schema {
        ["if": ["anyOf": fields.map(given)], "then": ["anyOf": schemas]]
    }

    private static func given(_ field: EntryField) -> Schema { ["required": [field.rawValue]] }

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
