import FanfareHTTP
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import OpenSSLKit
import TestSupport
import Testing

/// The server's side of TLS on real sockets: OpenSSL's own client, and peers that are slow, silent or no TLS at all.
@Suite struct TLSServerTests {
    /// Sends back what it receives, and closes after the word `quit`.
    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private var ends = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            if bytes.readableBytes < 100, String(buffer: bytes).contains("quit") { ends = true }
            context.write(wrapOutboundOut(bytes), promise: nil)
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            context.flush()
            if ends { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private struct Running: Sendable {
        let port: Int
        let folder: TemporaryFolder
        var caFile: String { folder.file("ca.pem") }
    }

    /// A server for all tests, which runs until they end.
    private static let server = Task<Running, any Error> {
        let folder = try TemporaryFolder()
        let authority = try CertificateAuthority(commonName: "Test authority", organization: "Fanfare", days: 2)
        let identity = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 2)
        _ = try folder.write("ca.pem", try authority.certificatePEM())
        let tls = try TLSServerContext(identity: identity, protocols: ["h2", "http/1.1"])
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (bound, announce) = AsyncStream<Int>.makeStream()
        let server = Server(
            childChannelSetup: TLSChannel(tls: tls) { try $0.pipeline.syncOperations.addHandler(Echo()) },
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { announce.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        Task {
            try? await server.run()
            announce.finish()
        }
        var ports = bound.makeAsyncIterator()
        return Running(port: try #require(await ports.next()), folder: folder)
    }

    /// Runs a body that blocks on a thread of its own: the server needs the others.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable (Running) throws -> Value
    ) async throws -> Value {
        let running = try await server.value
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body(running) }) }
        }
    }

    /// The output of OpenSSL's client.
    ///
    /// - Parameter script: writes the client's input.
    private static func client(_ options: String, input script: String) async throws -> String {
        try await onThread { running in
            let command = """
                exec 3< <(\(script)); openssl s_client -connect 127.0.0.1:\(running.port) -CAfile \(running.caFile) \
                -servername localhost -verify_hostname localhost -verify_return_error \(options) <&3 2>&1; \
                status=$?; kill $! 2>/dev/null; exit $status
                """
            return String(decoding: try runProgram("/bin/bash", ["-c", command]), as: UTF8.self)
        }
    }

    @Test(arguments: [
        ("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3"),
        ("-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256", "CHACHA20"),
        ("-tls1_3 -curves P-384", "secp384r1"), ("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256", "AES128-GCM"),
    ])
    func clientOfOpenSSLIsServed(options: String, shows: String) async throws {
        let input = "while printf 'hello quit\\n'; do sleep 0.3; done 2>/dev/null"
        let output = try await Self.client("\(options) -alpn h2,http/1.1", input: input)
        #expect(output.contains("Verify return code: 0 (ok)") && output.contains("ALPN protocol: h2"), "\(output)")
        #expect(output.contains(shows) && output.contains("\nhello quit\n"), "\(output)")
    }

    @Test func keyUpdatesOfTheClientAreAnswered() async throws {
        // The client takes `K` as a command only if it reads it alone.
        let input = "while printf 'K\\n'; do sleep 0.3; printf 'hello quit\\n'; sleep 0.3; done 2>/dev/null"
        let output = try await Self.client("-tls1_3", input: input)
        #expect(output.contains("KEYUPDATE") && output.contains("\nhello quit\n"), "\(output)")
    }

    @Test(arguments: ["-tls1_1 -cipher ALL:@SECLEVEL=0", "-tls1_2 -cipher NULL:@SECLEVEL=0"])
    func clientWithoutAStrongProtocolIsRefused(options: String) async throws {
        await #expect(throws: TestFailure.self) { try await Self.client(options, input: ":") }
    }

    @Test func peerThatSendsSingleBytesIsServed() async throws {
        let answer = try await Self.onThread { running in
            let peer = try TLSPeer(port: running.port, caFile: running.caFile)
            try peer.shakeHands(pieceBytes: 1)
            try peer.write(Array("hello quit".utf8), pieceBytes: 1)
            return try peer.readToEnd()
        }
        #expect(answer == Array("hello quit".utf8))
    }

    @Test func peerThatDoesNotReadIsNotReadFromAndGetsAllLater() async throws {
        let maximum = 64 << 20
        let blockedAt = try await Self.onThread { running in
            let peer = try TLSPeer(port: running.port, caFile: running.caFile)
            try peer.shakeHands()
            return try peer.writeBeforeReading([UInt8](repeating: 7, count: 65_536), maximum: maximum)
        }
        #expect(blockedAt < maximum, "the server has taken everything of a peer that does not read")
    }

    @Test func silentPeersAndStrangersDoNotHarmOthers() async throws {
        let answer = try await Self.onThread { running in
            let silent = try (0..<50).map { _ in try TLSPeer(port: running.port, caFile: running.caFile) }
            for bytes in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{7f}\u{7f}", "SSH-2.0-x\r\n"] {
                let stranger = try TLSPeer(port: running.port, caFile: running.caFile)
                try stranger.sendPlain(Array(bytes.utf8))
            }
            let peer = try TLSPeer(port: running.port, caFile: running.caFile)
            try peer.shakeHands()
            try peer.write(Array("quit".utf8))
            return withExtendedLifetime(silent) { try? peer.readToEnd() }
        }
        #expect(answer == Array("quit".utf8))
    }
}
