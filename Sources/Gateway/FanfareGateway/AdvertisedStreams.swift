internal import NIOCore

/// Writes another limit of streams into the server's first SETTINGS than the HTTP/2 handler enforces.
final class AdvertisedStreams: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private static let headBytes = 9
    private static let settingsType = 4
    private static let settingBytes = 6
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    private static let streamsSetting: UInt16 = 3

    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var bytes) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        replaceLimit(in: &bytes)
        context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The first frame of a server is its SETTINGS.
    private func replaceLimit(in bytes: inout ByteBuffer) {
        let start = bytes.readerIndex
        guard let head = bytes.getBytes(at: start, length: Self.headBytes), head[3] == Self.settingsType else { return }
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let settings = start + Self.headBytes..<start + Self.headBytes + length
        for setting in stride(from: settings.lowerBound, to: settings.upperBound, by: Self.settingBytes)
        where bytes.getInteger(at: setting, as: UInt16.self) == Self.streamsSetting {
            bytes.setInteger(UInt32(limit), at: setting + 2)
        }
    }
}
