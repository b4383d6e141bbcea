import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct RedisClientTests {
    @Test func answersOverTheUnixSocketInOrder() async throws {
        let server = try RedisServer()
        defer { server.stop() }
        let client = try await RedisClient.connect(server.endpoint)
        defer { client.close() }
        for index in 0..<100 {
            let value = try await client.send(RedisCommand("ECHO", "value \(index)"))
            #expect(value == .bulk(Array("value \(index)".utf8)))
        }
    }

    @Test func connectThrowsItsReason() async throws {
        let folder = try TemporaryFolder()
        let endpoint = RedisEndpoint(address: .unix(path: folder.file("nobody.sock")))
        await #expect(throws: RedisError.self) { _ = try await RedisClient.connect(endpoint) }
    }

    @Test func refusesCommandsAfterClose() async throws {
        let server = try RedisServer()
        defer { server.stop() }
        let client = try await RedisClient.connect(server.endpoint)
        client.close()
        client.close()
        let error = await #expect(throws: RedisError.self) { _ = try await client.send(RedisCommand("PING")) }
        #expect(error?.code == .notConnected)
    }
}
