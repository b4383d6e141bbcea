import FanfareJSON
import FanfareModel

/// Reads a request body against a schema as Google's JSON front end does. It lists unknown names and wrong types as
/// violations, accepts both spellings of a field, treats null as absent, and lets the last of equal names win. Its
/// results have canonical names only.
struct SchemaReader {
    private(set) var violations: [APIError.Violation] = []
    /// Further violations are not listed, so that a hostile message gets no endless answer.
    private static let violationLimit = 20

    mutating func read(_ object: JSONObject, as schema: MessageSchema, at path: String) -> JSONObject {
        var result = JSONObject()
        for member in object.members {
            guard let field = schema.fields[member.key] else {
                let place = "\"\(member.key)\"" + (path.isEmpty ? "" : " at '\(path)'")
                report(path, "Invalid JSON payload received. Unknown name \(place): Cannot find field.")
                continue
            }
            if member.value == .null { continue }
            // Violations name paths in the proto's spelling.
            let name = FieldName.snake(member.key)
            let fieldPath = path.isEmpty ? name : path + "." + name
            if let value = read(member.value, as: field.type, at: fieldPath) { result[field.name] = value }
        }
        return result
    }

    private mutating func read(_ value: JSONValue, as type: FieldType, at path: String) -> JSONValue? {
        switch (type, value) {
        case (.string, .string), (.bool, .bool), (.float, .number), (.structure, .object): return value
        case (.int32, .number(let number)):
            if let whole = number.wholeInt64, Int32(exactly: whole) != nil { return value }
        case (.duration, .string(let text)): if DurationText.nanoseconds(text) != nil { return value }
        case (.timestamp, .string(let text)):
            if text.utf8.count >= 20, text.utf8.contains(UInt8(ascii: "T")) { return value }
        case (.enumeration(let names), .string(let name)):
            // Google folds ASCII only: a dotless i is no I.
            let upper = String(decoding: name.utf8.map { 0x61...0x7A ~= $0 ? $0 - 0x20 : $0 }, as: UTF8.self)
            if names.contains(where: upper.isExactly) { return .string(upper) }
        case (.enumeration(let names), .number(let number)):
            if let index = number.int64, index >= 0, index < names.count { return value }
        case (.message(let schema), .object(let object)): return .object(read(object, as: schema, at: path))
        case (.stringMap, .object(let object)): return .object(readMap(object, at: path))
        case (.list(let element), .array(let values)):
            return .array(
                values.enumerated().compactMap { index, item in read(item, as: element, at: "\(path)[\(index)]") }
            )
        default: break
        }
        report(path, "Invalid value at '\(path)' (\(Self.name(of: type))), \(Self.shown(value))")
        return nil
    }

    private mutating func readMap(_ object: JSONObject, at path: String) -> JSONObject {
        var result = JSONObject()
        for (index, member) in object.members.enumerated() {
            if case .string = member.value {
                result[member.key] = member.value
            } else {
                let place = "\(path)[\(index)].value"
                report(place, "Invalid value at '\(place)' (TYPE_STRING), \(Self.shown(member.value))")
            }
        }
        return result
    }

    private mutating func report(_ field: String, _ description: String) {
        guard violations.count < Self.violationLimit else { return }
        violations.append(APIError.Violation(field: field, description: description))
    }

    private static func shown(_ value: JSONValue) -> String {
        let text = value.jsonText
        return text.utf8.count <= 200 ? text : String(text.prefix(200)) + "..."
    }

    private static func name(of type: FieldType) -> String {
        switch type {
        case .string: return "TYPE_STRING"
        case .bool: return "TYPE_BOOL"
        case .int32: return "TYPE_INT32"
        case .float: return "TYPE_FLOAT"
        case .duration: return "type.googleapis.com/google.protobuf.Duration"
        case .timestamp: return "type.googleapis.com/google.protobuf.Timestamp"
        case .enumeration: return "TYPE_ENUM"
        case .stringMap, .structure, .message: return "TYPE_MESSAGE"
        case .list: return "TYPE_REPEATED"
        }
    }
}

/// Reads durations as protobuf's JSON writes them: `3.5s`.
enum DurationText {
    /// - Returns: nil for a text that is no duration, or has more than 9 digits of seconds.
    static func nanoseconds(_ text: String) -> Int64? {
        var bytes = Array(text.utf8)
        guard bytes.popLast() == UInt8(ascii: "s") else { return nil }
        let negative = bytes.first == UInt8(ascii: "-")
        if negative { bytes.removeFirst() }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = number(parts[0]) else { return nil }
        var nanos: Int64 = 0
        if parts.count == 2 {
            guard let fraction = number(parts[1]) else { return nil }
            nanos = fraction
            for _ in parts[1].count..<9 { nanos *= 10 }
        }
        let total = whole * 1_000_000_000 + nanos
        return negative ? -total : total
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.count <= 9, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
