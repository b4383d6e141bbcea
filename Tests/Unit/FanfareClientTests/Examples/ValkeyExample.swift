import FanfareClient
import StreamWire

/// FanfareClient over valkey-swift.
struct ValkeySender: RedisSending {
    let client: ValkeyClient

    /// Any command, as its words.
    struct Words: ValkeyCommand {
        static let name = "FANFARE"
        let words: [String]
        let keysAffected: [ValkeyKey]

        func encode(into commandEncoder: inout ValkeyCommandEncoder) { commandEncoder.encodeArray(words) }
    }

    func reply(to command: RedisCommand) async throws -> RedisValue {
        let words = (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        let keys = command.routingKey.map { [ValkeyKey(String(decoding: $0, as: UTF8.self))] } ?? []
        do {
            return value(try await client.execute(Words(words: words, keysAffected: keys)))
        } catch let error as ValkeyClientError where error.errorCode == .commandError {
            throw RefusedCommand(message: error.message ?? "")
        }
    }

    private func value(_ token: RESPToken) -> RedisValue {
        switch token.value {
        case .number(let number): .integer(number)
        case .simpleString(let text): .status(String(buffer: text))
        case .bulkString(let bytes): .bulk(Array(bytes.readableBytesView))
        case .array(let tokens), .set(let tokens): .array(tokens.map(value))
        case .map(let pairs): .array(pairs.flatMap { [value($0.key), value($0.value)] })
        case .simpleError(let text), .bulkError(let text): .error(String(buffer: text))
        default: .null
        }
    }
}
