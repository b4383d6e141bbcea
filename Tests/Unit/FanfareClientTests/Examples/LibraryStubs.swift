// What the examples of other Redis clients use of RediStack, valkey-swift and NIOCore: the same names and shapes, so that
// the examples compile without these packages. Each sends to a closure.

struct ByteBuffer: Sendable, Hashable {
    var readableBytesView: [UInt8]
    init(bytes: some Sequence<UInt8>) { readableBytesView = Array(bytes) }
}

extension String {
    init(buffer: ByteBuffer) { self.init(decoding: buffer.readableBytesView, as: UTF8.self) }
}

// MARK: RediStack

/// `RediStack.RedisError`.
struct RediStackError: Error, Equatable {
    let message: String
}

enum RESPValue: Sendable {
    case null
    case simpleString(ByteBuffer)
    case bulkString(ByteBuffer?)
    case error(RediStackError)
    case integer(Int)
    case array([RESPValue])
}

struct EventLoopFuture<Value: Sendable>: Sendable {
    let result: Result<Value, any Error>
    func get() async throws -> Value { try result.get() }
}

struct RedisConnectionPool: Sendable {
    let answer: @Sendable (String, [RESPValue]) -> Result<RESPValue, any Error>

    func send(command: String, with arguments: [RESPValue]) -> EventLoopFuture<RESPValue> {
        EventLoopFuture(result: answer(command, arguments))
    }
}

// MARK: valkey-swift

struct ValkeyKey: Hashable, Sendable {
    let text: String
    init(_ text: String) { self.text = text }
}

struct ValkeyCommandEncoder {
    var words: [String] = []
    mutating func encodeArray(_ words: [String]) { self.words += words }
}

protocol ValkeyCommand: Sendable, Hashable {
    associatedtype Keys: Collection<ValkeyKey>
    static var name: String { get }
    var keysAffected: Keys { get }
    func encode(into commandEncoder: inout ValkeyCommandEncoder)
}

struct ValkeyClientError: Error {
    enum ErrorCode { case commandError, connectionClosed }
    let errorCode: ErrorCode
    let message: String?
}

struct RESPToken: Sendable {
    enum Value: Sendable {
        case simpleString(ByteBuffer)
        case simpleError(ByteBuffer)
        case bulkString(ByteBuffer)
        case bulkError(ByteBuffer)
        case number(Int64)
        case null
        case array([RESPToken])
        case set([RESPToken])
        case map([(key: RESPToken, value: RESPToken)])
    }
    let value: Value
}

struct ValkeyClient: Sendable {
    let answer: @Sendable ([String], [String]) -> Result<RESPToken.Value, any Error>

    func execute(_ command: some ValkeyCommand) async throws -> RESPToken {
        var encoder = ValkeyCommandEncoder()
        command.encode(into: &encoder)
        return RESPToken(value: try answer(encoder.words, command.keysAffected.map(\.text)).get())
    }
}
