import FanfareJSON

/// Converts an untyped dictionary of Apple's frameworks to JSON.
enum UserInfo {
    static let maximumDepth = 32

    /// The dictionary as an object with sorted keys. Keys that are not texts are left out.
    static func object(_ dictionary: [AnyHashable: Any], depth: Int) -> JSONObject {
        var members: [JSONObject.Member] = []
        for (key, value) in dictionary {
            guard let name = key.base as? String, let value = self.value(value, depth: depth - 1) else { continue }
            members.append(JSONObject.Member(key: name, value: value))
        }
        return JSONObject(members.sorted { $0.key < $1.key })
    }

    private static func value(_ value: Any, depth: Int) -> JSONValue? {
        if let text = value as? String { return .string(text) }
        // Integers before Booleans: a bridged 1 casts to true as well.
        if let number = value as? Int { return .number(JSONNumber(Int64(number))) }
        if let number = value as? Int64 { return .number(JSONNumber(number)) }
        if let flag = value as? Bool { return .bool(flag) }
        if let number = value as? Double { return real(number) }
        if let number = value as? Float { return real(Double(number)) }
        guard depth > 0 else { return nil }
        if let dictionary = value as? [AnyHashable: Any] { return .object(object(dictionary, depth: depth)) }
        if let list = value as? [Any] {
            // A null keeps the positions of the other elements.
            return .array(list.map { self.value($0, depth: depth - 1) ?? .null })
        }
        return nil
    }

    /// nil unless the number is finite.
    private static func real(_ number: Double) -> JSONValue? {
        try? JSONParser.parse(number.description.utf8)
    }
}
