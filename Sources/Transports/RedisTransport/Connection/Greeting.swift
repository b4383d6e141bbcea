internal import StreamWire

/// The commands that open every connection, sent in one write.
enum Greeting {
    /// Expected answer to a command.
    enum Expectation {
        case status(String)
        /// `ROLE` of a server that takes writes.
        case primary
        /// Anything, an error too: what is asked for is of no consequence.
        case anything

        /// The failure that an answer means; nil when the answer is as it should be.
        func failure(of value: RedisValue, error: RedisError?) -> RedisError? {
            if case .anything = self { nil } else { error ?? failure(of: value) }
        }

        private func failure(of value: RedisValue) -> RedisError? {
            switch self {
            case .anything: return nil
            case .status(let word):
                if value == .status(word) { return nil }
            case .primary:
                guard let role = value.array?.first?.string else { break }
                if role == "master" { return nil }
                return RedisError(.readOnly, "the server that Sentinel names is a \(role), not the primary")
            }
            return RedisError(.protocolError, "not a Redis server: unexpected answer to a greeting")
        }
    }

    /// PING comes last: it is what a server answers with LOADING, BUSY, MISCONF or NOAUTH while it cannot serve.
    static func commands(
        endpoint: RedisEndpoint,
        name: String,
        mustBePrimary: Bool
    ) -> [(command: RedisCommand, expected: Expectation)] {
        var commands: [(command: RedisCommand, expected: Expectation)] = []
        if let password = endpoint.password {
            var auth = RedisCommand("AUTH")
            if let user = endpoint.user { auth.append(user) }
            auth.append(password)
            commands.append((auth, .status("OK")))
        }
        // Left out where it changes nothing: a user may lack the right to it.
        if endpoint.database != 0 {
            commands.append((RedisCommand("SELECT", String(endpoint.database)), .status("OK")))
        }
        if !name.isEmpty {
            // Some services refuse every CLIENT command. The name is for operators who list the clients.
            commands.append((RedisCommand("CLIENT", "SETNAME", clean(name)), .anything))
        }
        if mustBePrimary { commands.append((RedisCommand("ROLE"), .primary)) }
        commands.append((RedisCommand("PING"), .status("PONG")))
        return commands
    }

    private static func clean(_ name: String) -> String {
        String(decoding: name.utf8.map { 0x21...0x7E ~= $0 ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    }
}
