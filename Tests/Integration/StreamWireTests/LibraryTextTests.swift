import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The text of the library.
@Suite struct LibraryTextTests {
    private static let text = String(decoding: FunctionLibrary.source, as: UTF8.self)

    /// How many locals of the whole text are in scope at once, at most and at its end, without the locals in functions.
    private static func countLocals(_ text: String) -> (most: Int, atEnd: Int) {
        let code = text.replacing(/--[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/) {
            $0.output.hasPrefix("--") ? "" : "0"
        }
        let tokens = code.matches(of: /[A-Za-z_][A-Za-z_0-9]*|[^\sA-Za-z_]/).map { String($0.output) }
        var (scopes, functions, locals, most) = ([(word: String, locals: Int)](), 0, 0, 0)
        for (at, token) in tokens.enumerated() {
            switch token {
            // A `for` and a `while` end with their `do`, and `then` and `else` with their `if`.
            case "function", "do", "if", "repeat":
                let isNamed = token == "function" && at > 0 && tokens[at - 1] == "local"
                if isNamed && functions == 0 { locals += 1 }
                scopes.append((token, locals))
                if token == "function" { functions += 1 }
            case "end", "until":
                guard let scope = scopes.popLast() else { return (.max, .max) }
                locals = scope.locals
                if scope.word == "function" { functions -= 1 }
            case "local" where functions == 0 && tokens[(at + 1)...].first != "function":
                locals += 1
                var next = at + 2
                while next < tokens.count, tokens[next] == "," {
                    locals += 1
                    next += 2
                }
            default: break
            }
            most = max(most, locals)
        }
        return scopes.isEmpty ? (most, locals) : (.max, .max)
    }

    @Test(arguments: [
        ("local a, b = 1, 2 -- local c\nlocal function d(e) local f = 'local g' end", 3),
        ("local a\ndo local b local function c() if a then return end end end\nlocal d", 3),
        ("local a\nfor i = 1, 2 do local b = i end\nlocal c = function() local d end", 2), ("do", Int.max),
    ])
    func localsAreCountedAsLuaDoes(text: String, count: Int) { #expect(Self.countLocals(text).most == count) }

    /// Lua takes 200 locals of one function, and the whole text is one: the next file wraps its own in `do … end`.
    @Test func libraryHasRoomForFurtherLocals() async throws {
        let (most, atEnd) = Self.countLocals(Self.text)
        #expect((100...195).contains(most))
        let server = try RedisServer()
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        func load(further: Int) async throws {
            let locals = (0..<further).map { "local further_\($0)\n" }.joined()
            _ = try await client.send(RedisCommand("FUNCTION", "LOAD", "REPLACE", Self.text + locals))
        }
        try await load(further: 0)
        // The count is Lua's own.
        try await load(further: 200 - atEnd)
        await #expect(throws: RedisError.self) { try await load(further: 201 - atEnd) }
    }
}
