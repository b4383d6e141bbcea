import ExpatKit
import FCMSimulator
import NIOCore
import NIOTLS

/// Parses a client's bytes into events for the simulator, and writes the simulator's answers. A stanza is held until it
/// is complete, within the parser's limits. A peer that does not read is not read from, which bounds what is written.
final class XMPPHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let host: SimulatorHost
    private let parser = XMLStreamParser()
    private var context: ChannelHandlerContext?
    private var id: UInt64?
    /// The simulator has asked to stop reading.
    private var isPaused = false
    private var isClosing = false

    init(host: SimulatorHost) {
        self.host = host
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
            let eventLoop = context.eventLoop
            id = host.openXMPP { actions in
                // Not at once: the caller holds the lock, and all connections keep one order.
                eventLoop.execute { handler.value.perform(actions) }
            }
            if id == nil { context.close(promise: nil) }
        case is ChannelShouldQuiesceEvent: context.close(promise: nil)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let id, !isClosing else { return }
        do throws(XMLStreamError) {
            host.receiveXMPP(try parser.feed(Array(unwrapInboundIn(data).readableBytesView)), on: id)
            if let failure = parser.failure { throw failure }
        } catch {
            host.failXMPP(id, reason: error.reason)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        read()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let id { host.closedXMPP(id) }
        id = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func perform(_ actions: [XMPPOutput.Action]) {
        guard let context, context.channel.isActive else { return }
        for action in actions {
            switch action {
            case .write(let bytes): context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .restart: parser.restart()
            case .pauseReading: isPaused = true
            case .resumeReading: isPaused = false
            case .close: isClosing = true
            }
        }
        guard isClosing else {
            read()
            return context.flush()
        }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise)
    }

    private func read() {
        guard let channel = context?.channel else { return }
        try? channel.syncOptions?.setOption(.autoRead, value: !isPaused && channel.isWritable)
    }
}
