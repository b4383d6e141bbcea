import FanfareClient
import StreamWire

/// FanfareClient over a connection pool of RediStack.
struct RediStackSender: RedisSending {
    let pool: RedisConnectionPool

    func reply(to command: RedisCommand) async throws -> RedisValue {
        let words = (0..<command.count).map { RESPValue.bulkString(ByteBuffer(bytes: command.word($0))) }
        let name = String(decoding: command.word(0), as: UTF8.self)
        do {
            return value(try await pool.send(command: name, with: Array(words.dropFirst())).get())
        } catch let error as RediStackError {
            throw RefusedCommand(message: error.message)
        }
    }

    private func value(_ value: RESPValue) -> RedisValue {
        switch value {
        case .null, .bulkString(nil): .null
        case .integer(let number): .integer(Int64(number))
        case .simpleString(let text): .status(String(buffer: text))
        case .bulkString(let bytes?): .bulk(Array(bytes.readableBytesView))
        case .array(let values): .array(values.map(self.value))
        case .error(let error): .error(error.message)
        }
    }
}

/// An error reply of Redis, whose code may follow a word of the library.
struct RefusedCommand: RedisErrorReply {
    let message: String
    var replyCode: String { message.contains("BUSYGROUP") ? "BUSYGROUP" : "ERR" }
}
