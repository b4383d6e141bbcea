public import NIOCore

/// Reads from a peer only while the peer reads: otherwise the answers to what it sends would fill the memory. A peer that has
/// ended its side gets no answers: the connection closes once the other handlers know.
///
/// The first handler of a connection.
public final class HeldReads: ChannelDuplexHandler {
    public typealias InboundIn = ByteBuffer
    public typealias OutboundIn = ByteBuffer

    /// Whether a read waits until the peer has read.
    private var isHeld = false

    public init() {}

    public func read(context: ChannelHandlerContext) {
        isHeld = !context.channel.isWritable
        if !isHeld { context.read() }
    }

    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }

    public func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isHeld { read(context: context) }
        context.fireChannelWritabilityChanged()
    }
}
