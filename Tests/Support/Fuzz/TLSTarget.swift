import Glibc
import NIOCore
import NIOEmbedded
import OpenSSLKit

@testable import FanfareHTTP

/// A stranger's bytes and pace, against the server's side of TLS.
extension FuzzTarget {
    private static let handshake: [UInt8] = [0, 5, 0, 5, 0]

    /// The first byte chooses between the bytes of a stranger, in pieces of that size, and the steps of a client.
    static let tlsHandler = FuzzTarget(
        name: "tls",
        seeds: [
            [0] + handshake + [9 << 3 | 1, 2, 5, 4 << 3 | 4, 5, 6],
            [0] + handshake + [31 << 3 | 1, 3 << 3 | 2, 1 << 3 | 2, 2, 6, 5, 1 << 3 | 6],
            [0] + handshake + [4 << 3 | 6, 2 << 3 | 4, 2 << 3 | 7, 4 << 3 | 6, 6],
            [0] + handshake + [1, 3, 2, 5, 2 << 3 | 6],
            [5, 22, 3, 1, 0, 5, 1, 0, 0, 1, 3], [200] + Array("GET / HTTP/1.1\r\n\r\n".utf8),
        ]
    ) { bytes in
        guard let first = bytes.first else { return }
        let connection = FuzzedTLS()
        if first == 0 {
            for byte in bytes.dropFirst() { connection.step(byte & 7, Int(byte >> 3)) }
        } else {
            for start in stride(from: 1, to: bytes.count, by: Int(first)) {
                connection.receive(Array(bytes[start..<min(start + Int(first), bytes.count)]))
            }
        }
        connection.end()
    }
}

/// One connection of the handler with a client of OpenSSL. What each side reads must begin what the other wrote, even if
/// bytes on the way were changed.
private final class FuzzedTLS {
    private final class Sink: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var text: [UInt8] = []
        var errors = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += unwrapInboundIn(data).readableBytesView
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { errors += 1 }
    }

    // Unsafe, because a client's context is not Sendable: it is made once, and the fuzzer has one thread.
    private nonisolated(unsafe) static let files: (server: TLSServerContext, client: TLSContext) = {
        do {
            let authority = try CertificateAuthority(commonName: "Fuzz", organization: "Fanfare", days: 2)
            let identity = try authority.issue(commonName: "Fuzz", names: ["localhost"], addresses: [], days: 2)
            let path = "/tmp/fanfare-fuzz-\(getpid()).pem"
            guard let file = fopen(path, "w") else { fatalError("\(path) cannot be written") }
            fputs(try authority.certificatePEM(), file)
            fclose(file)
            defer { unlink(path) }
            return (
                try TLSServerContext(identity: identity, protocols: ["h2"]), try TLSContext(files: .init(caFile: path))
            )
        } catch { fatalError("\(error)") }
    }()

    private let channel = EmbeddedChannel()
    private let sink = Sink()
    private let client: TLSSession
    private var isOpen = false
    /// The client's session ended; its later bytes are not read.
    private var isBroken = false
    /// Bytes on the way to the server.
    private var wire: [UInt8] = []
    private var clientWritten: [UInt8] = []
    private var serverWritten: [UInt8] = []
    private var clientRead: [UInt8] = []
    private var openPromises = 0

    init() {
        do {
            client = try TLSSession(context: Self.files.client, host: "localhost", protocols: ["h2"])
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context: Self.files.server))
            try channel.pipeline.syncOperations.addHandler(sink)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        } catch { fatalError("\(error)") }
    }

    func step(_ action: UInt8, _ argument: Int) {
        switch action {
        case 0:
            if !isOpen, !isBroken { attempt { isOpen = try client.handshake() } }
            deliver(wire.count)
        case 1:
            guard isOpen, !isBroken else { return }
            let bytes = (0...argument * argument * 40).map { UInt8(truncatingIfNeeded: clientWritten.count + $0) }
            clientWritten += bytes
            attempt { try bytes.withUnsafeBytes { try client.write($0) } }
        case 2: deliver(argument == 0 ? wire.count : argument)
        case 3: if argument < wire.count { wire[argument] ^= 1 << (argument & 7) }
        case 4: write(argument * 600, flushes: true)
        case 5: readByClient()
        case 6: control(argument)
        default: write(argument * 10, flushes: false)
        }
        check(sink.text == Array(clientWritten.prefix(sink.text.count)), "the server reads what was not written")
        check(clientRead == Array(serverWritten.prefix(clientRead.count)), "the client reads what was not written")
        check(sink.errors <= 1, "\(sink.errors) errors")
    }

    func receive(_ bytes: [UInt8]) {
        if channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: bytes)) }
    }

    /// Whatever came before, a close ends the connection within its patience, and every write has its end.
    func end() {
        channel.close(promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        check(!channel.isActive, "the connection does not end")
        check(openPromises == 0, "\(openPromises) writes without an end")
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    private func control(_ argument: Int) {
        switch argument {
        case 0: channel.close(promise: nil)
        case 1: if isOpen { client.shutdown() }
        case 2: channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        case 3: channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        case 4:
            channel.isWritable.toggle()
            channel.pipeline.fireChannelWritabilityChanged()
        case 5: receive([23, 3, 3, 0, 1])
        case 6: wire.removeLast(wire.count / 2)
        case 7: channel.close(mode: .output, promise: nil)
        default: channel.read()
        }
    }

    private func write(_ count: Int, flushes: Bool) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: serverWritten.count &* 7 + $0) }
        let isLate = !channel.isActive
        if !isLate { serverWritten += bytes }
        let promise = channel.eventLoop.makePromise(of: Void.self)
        openPromises += 1
        promise.futureResult.assumeIsolated().whenComplete { _ in self.openPromises -= 1 }
        if flushes {
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: promise)
        } else {
            channel.write(ByteBuffer(bytes: bytes), promise: promise)
        }
    }

    private func deliver(_ count: Int) {
        wire += client.removeOutgoing()
        let bytes = Array(wire.prefix(count))
        wire.removeFirst(bytes.count)
        if !bytes.isEmpty { receive(bytes) }
        readByClient()
    }

    private func readByClient() {
        while let bytes = try? channel.readOutbound(as: ByteBuffer.self) {
            guard !isBroken else { continue }
            attempt { try bytes.withUnsafeReadableBytes { try client.feed($0) } }
        }
        guard isOpen, !isBroken else { return }
        attempt {
            var buffer = [UInt8](repeating: 0, count: 20_000)
            while let count = try buffer.withUnsafeMutableBytes({ try client.read(into: $0) }), count > 0 {
                clientRead += buffer[..<count]
            }
        }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { isBroken = true }
    }
}
