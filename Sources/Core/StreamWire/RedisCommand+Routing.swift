extension RedisCommand {
    /// The key by which a cluster routes this command, of a `SCAN` its pattern's hash tag; nil where any node will do.
    public var routingKey: ArraySlice<UInt8>? {
        guard count > 0 else { return nil }
        switch String(decoding: word(0), as: UTF8.self).uppercased() {
        case "FCALL", "FCALL_RO", "EVAL", "EVALSHA":
            guard count > 3, word(2) != Array("0".utf8)[...] else { return nil }
            return word(3)
        case "XGROUP", "XINFO", "OBJECT": return count > 2 ? word(2) : nil
        case "XREAD", "XREADGROUP": return behind("STREAMS")
        case "SCAN": return behind("MATCH")
        case "PING", "ECHO", "TIME", "INFO", "ROLE", "WAIT", "COMMAND", "CONFIG", "CLIENT", "FUNCTION", "SCRIPT", "ACL",
            "AUTH", "SELECT", "CLUSTER", "SENTINEL", "ASKING", "MEMORY", "DBSIZE", "FLUSHALL", "LATENCY":
            return nil
        default: return count > 1 ? word(1) : nil
        }
    }

    /// True for a Redis function or script: it may touch keys that it does not name.
    public var isFunctionCall: Bool {
        guard count > 0 else { return false }
        return ["FCALL", "FCALL_RO", "EVAL", "EVALSHA"].contains(String(decoding: word(0), as: UTF8.self).uppercased())
    }

    private func behind(_ option: String) -> ArraySlice<UInt8>? {
        for index in 1..<max(1, count - 1)
        where String(decoding: word(index), as: UTF8.self).uppercased() == option {
            return word(index + 1)
        }
        return nil
    }
}
