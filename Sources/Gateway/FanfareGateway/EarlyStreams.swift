internal import NIOCore

/// Lets a client open streams up to the limit before it acknowledges the server's SETTINGS.
///
/// Until then the HTTP/2 handler allows 100 streams and ends the connection above, while a client may open any number
/// (RFC 9113, 5.1.2). So the handler gets the acknowledgement right after the client's own SETTINGS, and the client's is taken out
/// when it comes.
final class EarlyStreams: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let prefaceBytes = 24
    private static let headBytes = 9
    private static let settingsType = 4
    /// A SETTINGS frame without settings, with the flag ACK.
    private static let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]

    /// Bytes of the preface or of a frame that are still to come.
    private var rest = prefaceBytes
    private var frames = 0
    private var isAcknowledged = false
    /// The beginning of a frame's head.
    private var head: ByteBuffer?
    private let onFrame: () -> Void

    /// - Parameter onFrame: called with the frame that is taken out: it was whole.
    init(onFrame: @escaping () -> Void) { self.onFrame = onFrame }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if var start = head.take() {
            start.writeBuffer(&bytes)
            bytes = start
        }
        var passed = context.channel.allocator.buffer(capacity: bytes.readableBytes + Self.headBytes)
        while bytes.readableBytes > 0 {
            if rest > 0 {
                let count = min(rest, bytes.readableBytes)
                if var part = bytes.readSlice(length: count) { passed.writeBuffer(&part) }
                rest -= count
                if rest == 0, frames == 1, !isAcknowledged {
                    isAcknowledged = true
                    passed.writeBytes(Self.acknowledgement)
                }
                continue
            }
            guard let next = bytes.getBytes(at: bytes.readerIndex, length: Self.headBytes) else {
                head = bytes
                break
            }
            if isAcknowledged, next == Self.acknowledgement {
                bytes.moveReaderIndex(forwardBy: Self.headBytes)
                passed.writeBuffer(&bytes)
                onFrame()
                if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
                return context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            }
            // Of a first frame that is no SETTINGS, the HTTP/2 handler tells the client.
            if frames == 0, next[3] != Self.settingsType { isAcknowledged = true }
            frames += 1
            rest = Self.headBytes + (Int(next[0]) << 16 | Int(next[1]) << 8 | Int(next[2]))
        }
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }
}
