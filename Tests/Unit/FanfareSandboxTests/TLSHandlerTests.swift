import NIOCore
import NIOEmbedded
import NIOTLS
import OpenSSLKit
import TestSupport
import Testing

@testable import FanfareSandbox

@Suite struct TLSHandlerTests {
    /// A server's channel with the handler, and a client that feeds it.
    private final class Connection {
        private final class Events: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            var isComplete = false
            var errors = 0

            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent { isComplete = true }
                context.fireUserInboundEventTriggered(event)
            }

            func errorCaught(context: ChannelHandlerContext, error: any Error) { errors += 1 }
        }

        let folder: TemporaryFolder
        let channel = EmbeddedChannel()
        let client: TLSSession
        private let events = Events()

        init() throws {
            folder = try TemporaryFolder()
            let made = try ServerCertificate.make()
            let file = try folder.write("ca.pem", made.authorityPEM)
            client = try TLSSession(context: TLSContext(files: TLSFiles(caFile: file)), host: "localhost")
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context: TLSServerContext(identity: made.server)))
            try channel.pipeline.syncOperations.addHandler(events)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        var isComplete: Bool { events.isComplete }
        var errors: Int { events.errors }

        func feedServer() throws {
            let bytes = client.removeOutgoing()
            if !bytes.isEmpty { try channel.writeInbound(ByteBuffer(bytes: bytes)) }
        }

        func feedClient() throws {
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
                try bytes.withUnsafeReadableBytes { try client.feed($0) }
            }
        }

        func shakeHands() throws {
            for _ in 0..<10 where try !client.handshake() {
                try feedServer()
                try feedClient()
            }
            try feedServer()
            try feedClient()
            #expect(isComplete)
        }

        /// What the client reads; nil after the server's close_notify.
        func read() throws -> String? {
            var buffer = [UInt8](repeating: 0, count: 1_000)
            guard let count = try buffer.withUnsafeMutableBytes({ try client.read(into: $0) }) else { return nil }
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    @Test func writesBeforeTheEndOfTheHandshakeAreSentAfterIt() throws {
        let connection = try Connection()
        let written = connection.channel.writeAndFlush(ByteBuffer(string: "early"))
        try connection.shakeHands()
        #expect(try connection.read() == "early")
        try written.wait()
    }

    @Test func closeSendsWhatWasWrittenAndWaitsForThePeer() throws {
        let connection = try Connection()
        try connection.shakeHands()
        _ = connection.channel.write(ByteBuffer(string: "last"))
        let closed = connection.channel.close()
        try connection.feedClient()
        #expect(try connection.read() == "last")
        #expect(try connection.read() == nil)
        #expect(connection.channel.isActive)
        connection.client.shutdown()
        try connection.feedServer()
        #expect(!connection.channel.isActive)
        try closed.wait()
    }

    @Test func closeEndsAfterFiveSecondsWithoutTheAnswerOfThePeer() throws {
        let connection = try Connection()
        try connection.shakeHands()
        let closed = connection.channel.close()
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_999))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!connection.channel.isActive)
        try closed.wait()
    }

    @Test func closeNotifyOfThePeerIsAnsweredAndClosesTheChannel() throws {
        let connection = try Connection()
        try connection.shakeHands()
        connection.client.shutdown()
        try connection.feedServer()
        try connection.feedClient()
        #expect(try connection.read() == nil)
        #expect(!connection.channel.isActive)
    }

    @Test func bytesThatAreNotTLSCloseTheChannelWithOneError() throws {
        let connection = try Connection()
        let written = connection.channel.writeAndFlush(ByteBuffer(string: "never"))
        try connection.channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(!connection.channel.isActive)
        #expect(connection.errors == 1)
        #expect(throws: (any Error).self) { try written.wait() }
    }

    @Test func writesAfterTheCloseFail() throws {
        let connection = try Connection()
        try connection.shakeHands()
        connection.channel.close(promise: nil)
        #expect(throws: (any Error).self) { try connection.channel.writeAndFlush(ByteBuffer(string: "late")).wait() }
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    }
}
