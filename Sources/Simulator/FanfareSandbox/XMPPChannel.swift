import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// A connection of the XMPP port: TLS from its first byte, then ``XMPPHandler``.
struct XMPPChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    let tls: NIOSSLContext
    let host: SimulatorHost

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(NIOSSLServerHandler(context: self.tls))
            try pipeline.addHandler(XMPPHandler(host: self.host))
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        // A stop that takes too long is cancelled: a peer in the middle of its handshake cannot be asked to close.
        await withTaskCancellationHandler {
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}
