import Glibc
import SocketTransport
import TestSupport
import Testing

@Suite struct ServedAddressTests {
    @Test func portIsServedUntilItsSocketIsClosed() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        name.sin_family = sa_family_t(AF_INET)
        let isListening = withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        try #require(isListening)
        let address = try #require(SocketAddress.numeric("127.0.0.1", port: UInt16(bigEndian: name.sin_port)))
        #expect(address.isServed)
        close(descriptor)
        #expect(!address.isServed)
    }

    @Test func onlyTheSocketOfAProcessIsServed() throws {
        let folder = try TemporaryFolder()
        let address = try #require(SocketAddress.unix(folder.file("s")))
        #expect(!address.isServed)
        _ = try folder.write("s", "a file that is no socket")
        #expect(!address.isServed)
        let redis = try RedisServer()
        #expect(try #require(SocketAddress.unix(redis.socketPath)).isServed)
    }
}
