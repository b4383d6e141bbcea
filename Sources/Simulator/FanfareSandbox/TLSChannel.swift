import HummingbirdCore
import Logging
import NIOCore
import OpenSSLKit

/// A connection of a TLS port. Hummingbird accepts and closes it; our own handlers speak the protocol on it.
struct TLSChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    let tls: TLSServerContext
    /// Adds the handlers behind TLS.
    let addHandlers: @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A half-closed connection gets no answers: its peer counts as gone.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(TLSHandler(context: self.tls))
            try addHandlers(pipeline)
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
