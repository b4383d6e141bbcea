import RedisTransport
import Testing

@Suite struct RedisErrorTests {
    @Test(arguments: [
        ("LOADING Redis is loading the dataset in memory", RedisError.Code.loading, true),
        ("READONLY You can't write against a read only replica.", .readOnly, true),
        ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory, true),
        ("MISCONF Redis is configured to save RDB snapshots", .misconf, true),
        ("NOSCRIPT No matching script.", RedisError.Code(rawValue: "NOSCRIPT"), false),
        ("ERR Function not found", .functionNotFound, false),
        ("ERR unknown command 'X'", .server, false),
        ("ERR max number of clients reached", .tooManyClients, true),
        ("NEWWORD something", RedisError.Code(rawValue: "NEWWORD"), false),
        ("fanfare: not ours", .server, false),
        ("timeout of somebody", .server, false),
        ("", .server, false),
    ])
    func theFirstWordIsTheCode(_ line: String, _ code: RedisError.Code, _ isTransient: Bool) {
        let error = RedisError(reply: line)
        #expect(error.code == code)
        #expect(error.isTransient == isTransient)
        #expect(error.message == line)
    }

    @Test func messagesAreSafeToLog() {
        let error = RedisError(reply: "ERR a\u{1B}[31m\r\n\u{2028}\u{85}" + String(repeating: "x", count: 10_000))
        #expect(error.message.hasPrefix("ERR a?[31m????x"))
        #expect(error.message.count == 512)
    }
}
