import EventLoop
import Glibc
import SocketTransport
import TestSupport
import Testing

/// Streams that never open. XMPPTransportTests hold the ones that do.
@Suite struct TLSStreamTests {
    private struct End: Equatable {
        var reason = ""
        var accepted: UInt64 = 0
        var handedOver: UInt64 = 0
    }

    /// Opens a stream, sends `bytes` before it is open, and runs until it has closed.
    private func end(_ configuration: TLSStreamConfiguration, sending bytes: [UInt8] = []) throws -> End {
        let result = Locked(End())
        try runLoop(seconds: 20) { loop in
            let stream = TLSStream(loop: loop, configuration: configuration)
            stream.onEvent = { event in
                // The stream lives until its last event.
                guard case .closed(let reason) = event else {
                    Issue.record("\(event)")
                    return loop.stop()
                }
                result.withLock {
                    $0 = End(reason: "\(reason)", accepted: stream.accepted, handedOver: stream.handedOver)
                }
                loop.stop()
            }
            stream.open()
            if !bytes.isEmpty { stream.send(bytes) }
        }
        return result.withLock { $0 }
    }

    /// A listening socket of which nothing accepts: the kernel completes the connect, and no byte ever comes.
    private func withSilentPeer(_ body: (Int) throws -> Void) throws {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                try #require(bind(fd, name, size) == 0 && listen(fd, 8) == 0 && getsockname(fd, name, &size) == 0)
            }
        }
        try body(Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test func silentPeerIsGivenUpAfterTheConnectTimeout() throws {
        try withSilentPeer { port in
            for host in ["127.0.0.1", "localhost"] {
                var configuration = TLSStreamConfiguration(host: host, port: port)
                configuration.connectTimeoutMs = 200
                let end = try end(configuration, sending: [1, 2, 3])
                #expect(end == End(reason: "no connection within 200 ms", accepted: 3, handedOver: 0))
            }
        }
    }

    @Test func bytesBeyondTheBufferEndTheStreamUnsent() throws {
        try withSilentPeer { port in
            var configuration = TLSStreamConfiguration(host: "127.0.0.1", port: port)
            configuration.maximumBufferedBytes = 10
            let end = try end(configuration, sending: [UInt8](repeating: 0, count: 11))
            #expect(end == End(reason: "the peer does not take what is sent", accepted: 11, handedOver: 0))
        }
    }

    @Test func portWithoutListenerIsReported() throws {
        #expect(try end(TLSStreamConfiguration(host: "127.0.0.1", port: 1)).reason.contains("Connection refused"))
        // A name of several addresses fails after the last of them.
        #expect(try end(TLSStreamConfiguration(host: "localhost", port: 1)).reason.contains("Connection refused"))
    }

    @Test func unknownNameIsReported() throws {
        #expect(try end(TLSStreamConfiguration(host: "nowhere.invalid", port: 1)).reason.contains("nowhere.invalid"))
    }

    @Test(arguments: ["", "evil.test/#", "user@evil.test", "a b", "1:2", "[::1]", "host:443", "%6c"])
    func hostThatIsNeitherNameNorAddressIsRefused(host: String) throws {
        #expect(try end(TLSStreamConfiguration(host: host, port: 443)).reason == "\(host) is not a host")
    }

    @Test(arguments: [0, -1, 65_536]) func portOutOfRangeIsRefused(port: Int) throws {
        #expect(try end(TLSStreamConfiguration(host: "localhost", port: port)).reason.contains("not a host"))
    }
}
