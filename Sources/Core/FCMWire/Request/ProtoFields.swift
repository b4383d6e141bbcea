internal import FanfareJSON

/// Protobuf JSON: a field is written in lowerCamelCase, and read in snake_case too. `null` is the same as absent.
extension JSONObject {
    /// The value of a field by its lowerCamelCase name, in whichever spelling it was written.
    func proto(_ camel: String) -> JSONValue? {
        guard let value = self[protoKey(camel)], value != .null else { return nil }
        return value
    }

    /// The spelling in use, so that a change does not write the field twice; lowerCamelCase if it is absent.
    func protoKey(_ camel: String) -> String {
        if self[camel] != nil { return camel }
        let snake = FieldName.snake(camel)
        return snake == camel || self[snake] == nil ? camel : snake
    }

    /// A header of `webpush` or `apns`; names are compared without case.
    func header(_ name: String, of block: String) -> String? {
        let headers = proto(block)?.object?.proto("headers")?.object
        let lower = name.lowercased()
        return headers?.members.last { $0.key.lowercased() == lower }?.value.string
    }

    /// Sets a value deep inside, making objects on the way. Absent and `null` objects are made; anything else in the
    /// way is left alone.
    mutating func set(_ path: ArraySlice<String>, to value: JSONValue) {
        guard let name = path.first else { return }
        let key = protoKey(name)
        guard path.count > 1 else {
            self[key] = value
            return
        }
        var inner: JSONObject
        switch self[key] {
        case .object(let object): inner = object
        case nil, .null: inner = JSONObject()
        default: return
        }
        inner.set(path.dropFirst(), to: value)
        self[key] = .object(inner)
    }

    mutating func set(_ path: [String], to value: JSONValue) {
        set(path[...], to: value)
    }

    func value(at path: [String]) -> JSONValue? {
        var current = JSONValue.object(self)
        for name in path {
            guard let next = current.object?.proto(name) else { return nil }
            current = next
        }
        return current
    }
}

extension FieldName {
    static func camel(_ snake: String) -> String {
        let parts = snake.split(separator: "_", omittingEmptySubsequences: true)
        guard parts.count > 1, let first = parts.first else { return snake }
        return parts.dropFirst().reduce(into: String(first)) { name, part in
            name += part.prefix(1).uppercased() + part.dropFirst()
        }
    }
}
