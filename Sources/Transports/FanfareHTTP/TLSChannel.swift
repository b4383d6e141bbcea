public import HummingbirdCore
public import Logging
public import NIOCore
public import OpenSSLKit

/// A connection of a TLS port. Hummingbird accepts and closes it; the caller's handlers speak the protocol on it.
public struct TLSChannel: ServerChildChannel {
    public struct Value: ServerChildChannelValue {
        public let channel: any Channel
    }

    private let tls: @Sendable () -> TLSServerContext
    private let addHandlers: @Sendable (any Channel) throws -> Void

    /// - Parameters:
    ///   - tls: the certificate of the next connection.
    ///   - addHandlers: adds the handlers that follow TLS.
    public init(
        tls: @escaping @autoclosure @Sendable () -> TLSServerContext,
        addHandlers: @escaping @Sendable (any Channel) throws -> Void
    ) {
        (self.tls, self.addHandlers) = (tls, addHandlers)
    }

    public func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try channel.pipeline.syncOperations.addHandler(HeldReads())
            try channel.pipeline.syncOperations.addHandler(TLSHandler(context: self.tls()))
            try addHandlers(channel)
            return Value(channel: channel)
        }
    }

    public func handle(value: Value, logger: Logger) async {
        // A stop that takes too long is cancelled: a peer in the middle of its handshake cannot be asked to close.
        await withTaskCancellationHandler {
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}
