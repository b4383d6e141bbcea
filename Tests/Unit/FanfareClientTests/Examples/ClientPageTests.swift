import FanfareClient
import StreamWire
import Testing

/// The examples of the page FanfareClient, over stubs of the libraries.
@Suite struct ClientPageTests {
    private static let key = "fanfare:{demo}:jobs"

    @Test func rediStackExampleCarriesCommandAndReply() async throws {
        let pool = RedisConnectionPool { name, arguments in
            guard case .bulkString(let key?) = arguments.first else { return .success(.null) }
            let reply: [RESPValue] = [
                .simpleString(ByteBuffer(bytes: name.utf8)), .bulkString(key), .integer(3), .bulkString(nil),
                .error(RediStackError(message: "ERR inner")),
            ]
            return .success(.array(reply))
        }
        let reply = try await RediStackSender(pool: pool).reply(to: RedisCommand("XADD", Self.key, "*"))
        let key = RedisValue.bulk(Array(Self.key.utf8))
        #expect(reply == .array([.status("XADD"), key, .integer(3), .null, .error("ERR inner")]))
    }

    @Test func valkeyExampleCarriesCommandKeyAndReply() async throws {
        let client = ValkeyClient { words, keys in
            let text = RESPToken(value: .bulkString(ByteBuffer(bytes: words.joined(separator: " ").utf8)))
            let key = RESPToken(value: .simpleString(ByteBuffer(bytes: keys.joined().utf8)))
            return .success(.map([(key: key, value: text), (key: key, value: RESPToken(value: .number(3)))]))
        }
        let reply = try await ValkeySender(client: client).reply(to: RedisCommand("XADD", Self.key, "*"))
        let (text, key) = (RedisValue.bulk(Array("XADD \(Self.key) *".utf8)), RedisValue.status(Self.key))
        #expect(reply == .array([key, text, key, .integer(3)]))
    }

    @Test func typedMessageExamplePushesTheMessageOnce() async throws {
        let pool = RedisConnectionPool { _, arguments in
            var text = ""
            for case .bulkString(let word?) in arguments { text += String(buffer: word) + " " }
            let message =
                #"{"notification":{"title":"Hello","body":"World"},"data":{"article":"17"},"#
                + #""android":{"collapseKey":"news","ttl":"3600s","priority":"HIGH"},"#
                + #""apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"sound":"default"}}}}"#
            #expect(text == "\(Self.key) * topic news message \(message) id article-17 ")
            return .success(.bulkString(ByteBuffer(bytes: "1-0".utf8)))
        }
        let producer = FanfareProducer(redis: RediStackSender(pool: pool), project: "demo")
        #expect(try await announceArticle(with: producer) == "article-17")
    }

    /// A group that exists is no failure over any client; another error reply is one.
    @Test(arguments: [("BUSYGROUP Consumer Group name already exists", true), ("NOPERM no", false)])
    func existingGroupIsRecognizedOverEachClient(line: String, isFine: Bool) async throws {
        let pool = RedisConnectionPool { _, _ in .failure(RediStackError(message: "(Redis error) \(line)")) }
        let client = ValkeyClient { _, _ in .failure(ValkeyClientError(errorCode: .commandError, message: line)) }
        func creates(_ redis: some RedisSending) async -> Bool {
            let consumer = FanfareConsumer(redis: redis, project: "demo", group: "g", consumer: "c")
            return (try? await consumer.createGroups()) != nil
        }
        #expect(await creates(RediStackSender(pool: pool)) == isFine)
        #expect(await creates(ValkeySender(client: client)) == isFine)
    }

    @Test func lostConnectionIsThrownAsItIs() async throws {
        let client = ValkeyClient { _, _ in
            .failure(ValkeyClientError(errorCode: .connectionClosed, message: "BUSYGROUP"))
        }
        await #expect(throws: ValkeyClientError.self) {
            try await ValkeySender(client: client).reply(to: RedisCommand("PING"))
        }
    }
}
