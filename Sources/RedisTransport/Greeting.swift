internal import StreamWire

/// The commands that open every connection, sent in one write.
enum Greeting {
    /// PING comes last: it is what a server answers with LOADING, BUSY, MISCONF or NOAUTH while it cannot serve.
    static func commands(endpoint: RedisEndpoint, name: String) -> [(command: RedisCommand, expected: String)] {
        var commands: [(command: RedisCommand, expected: String)] = []
        if let password = endpoint.password {
            var auth = RedisCommand("AUTH")
            if let user = endpoint.user { auth.append(user) }
            auth.append(password)
            commands.append((auth, "OK"))
        }
        // Left out where it changes nothing: a user may lack the right to it.
        if endpoint.database != 0 { commands.append((RedisCommand("SELECT", String(endpoint.database)), "OK")) }
        if !name.isEmpty { commands.append((RedisCommand("CLIENT", "SETNAME", clean(name)), "OK")) }
        commands.append((RedisCommand("PING"), "PONG"))
        return commands
    }

    private static func clean(_ name: String) -> String {
        String(decoding: name.utf8.map { 0x21...0x7E ~= $0 ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }
}
