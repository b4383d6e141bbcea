import NIOCore
import NIOEmbedded
import NIOTLS
import OpenSSLKit
import TestSupport
import Testing

@testable import FanfareHTTP

@Suite struct TLSHandlerTests {
    /// A server's channel with the handler, and a client that feeds it.
    private final class Connection {
        private final class Events: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            var isComplete = false
            var errors = 0
            var stops = 0
            /// What had been sent to the peer when its close_notify was reported.
            var sentAtShutdown: [ByteBuffer?] = []

            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                switch event as? TLSUserEvent {
                case .handshakeCompleted: isComplete = true
                case .shutdownCompleted:
                    let channel = context.channel as? EmbeddedChannel
                    sentAtShutdown.append(try? channel?.readOutbound(as: ByteBuffer.self))
                case nil: break
                }
                if event is ChannelShouldQuiesceEvent { stops += 1 }
                context.fireUserInboundEventTriggered(event)
            }

            func errorCaught(context: ChannelHandlerContext, error: any Error) { errors += 1 }
        }

        /// Counts the reads that reach the socket.
        private final class Reads: ChannelOutboundHandler {
            typealias OutboundIn = ByteBuffer
            var count = 0

            func read(context: ChannelHandlerContext) {
                count += 1
                context.read()
            }
        }

        let folder: TemporaryFolder
        let channel = EmbeddedChannel()
        let client: TLSSession
        private let events = Events()
        private let socketReads = Reads()
        /// The client's bytes arrive in pieces of this size.
        var pieceBytes = Int.max >> 1

        init() throws {
            folder = try TemporaryFolder()
            let authority = try CertificateAuthority(commonName: "Test authority", organization: "Fanfare", days: 2)
            let server = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 1)
            let file = try folder.write("ca.pem", try authority.certificatePEM())
            client = try TLSSession(context: TLSContext(files: TLSFiles(caFile: file)), host: "localhost")
            try channel.pipeline.syncOperations.addHandler(socketReads)
            try channel.pipeline.syncOperations.addHandler(HeldReads())
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context: TLSServerContext(identity: server)))
            try channel.pipeline.syncOperations.addHandler(events)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        var isComplete: Bool { events.isComplete }
        var errors: Int { events.errors }
        var stops: Int { events.stops }
        var sentAtShutdown: [ByteBuffer?] { events.sentAtShutdown }
        var reads: Int { socketReads.count }

        func feedServer() throws {
            let bytes = client.removeOutgoing()
            for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + pieceBytes, bytes.count)]))
            }
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
        #expect(connection.sentAtShutdown == [nil], "what the peer has acknowledged is known before more is sent")
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

    @Test func bytesThatArriveOneByOneAreRead() throws {
        let connection = try Connection()
        connection.pieceBytes = 1
        try connection.shakeHands()
        try Array("hello".utf8).withUnsafeBytes { try connection.client.write($0) }
        try connection.feedServer()
        #expect(try connection.channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "hello"))
        #expect(connection.channel.isActive && connection.errors == 0)
    }

    @Test func handshakeThatIsNotCompleteAfter30SecondsEndsTheConnection() throws {
        let connection = try Connection()
        _ = try connection.client.handshake()
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!connection.channel.isActive && connection.errors == 0)
    }

    @Test func stopEndsAHandshakeAfterFiveSeconds() throws {
        let connection = try Connection()
        _ = try connection.client.handshake()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_999))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!connection.channel.isActive && connection.errors == 0)
    }

    @Test func stopDuringAHandshakeIsReportedAfterIt() throws {
        let connection = try Connection()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(connection.stops == 0)
        try connection.shakeHands()
        #expect(connection.isComplete && connection.stops == 1)
        connection.channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(connection.channel.isActive)
    }

    @Test func connectionStaysAfterItsHandshake() throws {
        let connection = try Connection()
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        try connection.shakeHands()
        connection.channel.embeddedEventLoop.advanceTime(by: .hours(24))
        #expect(connection.channel.isActive)
    }

    @Test func peerThatDoesNotReadIsNotReadFrom() throws {
        let connection = try Connection()
        try connection.shakeHands()
        let reads = connection.reads
        connection.channel.isWritable = false
        connection.channel.pipeline.fireChannelWritabilityChanged()
        connection.channel.read()
        // Part of a record asks for the rest of it.
        try connection.channel.writeInbound(ByteBuffer(bytes: [23, 3, 3, 0, 40]))
        #expect(connection.reads == reads)
        connection.channel.isWritable = true
        connection.channel.pipeline.fireChannelWritabilityChanged()
        #expect(connection.reads == reads + 1)
        connection.channel.read()
        #expect(connection.reads == reads + 2)
    }
}
