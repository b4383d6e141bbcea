extension FunctionLibrary {
    /// Asks for keys of the wrong type and for commands that this user may not run. Writes nothing.
    public static func check(_ keys: ProjectKeys) -> RedisCommand { call("check", keys) }
}

/// A fault that stops the library's functions: a key of the wrong type, or a missing right.
public enum RedisFault: Hashable, Sendable {
    case type(key: String, found: String, needed: String)
    case command(name: String, key: String)

    /// Parses the reply of `check`; nil when it is malformed.
    public static func parse(_ value: RedisValue) -> [RedisFault]? {
        guard let faults = value.array else { return nil }
        let read = faults.compactMap(RedisFault.init)
        return read.count == faults.count ? read : nil
    }

    private init?(_ value: RedisValue) {
        guard let fault = NamedValues(value), let key = fault.text("key") else { return nil }
        if let name = fault.text("command") {
            self = .command(name: name, key: key)
        } else if let found = fault.text("found"), let needed = fault.text("needed") {
            self = .type(key: key, found: found, needed: needed)
        } else {
            return nil
        }
    }
}
