import FanfareJSON

/// A dictionary without types, as Apple's frameworks hand it over, turned into JSON.
enum UserInfo {
    static let mostDepth = 32

    /// Keys that are no texts are left out. A dictionary has no order, so its keys are sorted.
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
        // Whole numbers before flags: a bridged number 1 would pass for true as well.
        if let number = value as? Int { return .number(JSONNumber(Int64(number))) }
        if let number = value as? Int64 { return .number(JSONNumber(number)) }
        if let flag = value as? Bool { return .bool(flag) }
        if let number = value as? Double { return real(number) }
        if let number = value as? Float { return real(Double(number)) }
        guard depth > 0 else { return nil }
        if let dictionary = value as? [AnyHashable: Any] { return .object(object(dictionary, depth: depth)) }
        if let list = value as? [Any] {
            // A place that cannot be told stays a place.
            return .array(list.map { self.value($0, depth: depth - 1) ?? .null })
        }
        return nil
    }

    /// nil for what is not finite.
    private static func real(_ number: Double) -> JSONValue? {
        try? JSONParser.parse(number.description.utf8)
    }
}
