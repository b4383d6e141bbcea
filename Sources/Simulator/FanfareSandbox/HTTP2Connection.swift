import FCMSimulator
import FanfareHTTP
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One HTTP/2 connection. It handles frames, because faults do.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// The limit that the live service advertises.
    static let defaultStreamLimit = 100
    static let streamWindow = 1 << 20
    private static let connectionWindow = 16 << 20

    private let host: SimulatorHost
    private let dates = HTTPDateText()
    /// Streams without an answer, with the request while it arrives; nil once it is complete.
    private var streams: [HTTP2StreamID: RequestParts?] = [:]
    private var maximumStreams = 0
    private var streamLimit: Int?
    private var unreturnedBytes = 0
    /// The highest stream whose request was processed.
    private var newestProcessed = HTTP2StreamID.rootStream
    /// The last stream of our GOAWAY. Higher streams are not processed, and the connection ends when the others are
    /// done.
    private var lastStream: HTTP2StreamID?

    init(host: SimulatorHost) {
        self.host = host
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The connection's window cannot be set by SETTINGS.
        write(context, .rootStream, .windowUpdate(windowSizeIncrement: Self.connectionWindow - 65_535))
        context.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): received(headers, on: frame.streamID, context)
        case .data(let data): received(data, on: frame.streamID, context)
        case .rstStream: drop(frame.streamID, context)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        streams = [:]
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let closed as StreamClosedEvent: drop(closed.streamID, context)
        case is ChannelShouldQuiesceEvent: context.close(promise: nil)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The HTTP/2 handler answers an error of one stream, such as a frame after its reset.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    // MARK: Requests

    private func received(
        _ frame: HTTP2Frame.FramePayload.Headers,
        on stream: HTTP2StreamID,
        _ context: ChannelHandlerContext
    ) {
        if let lastStream, stream > lastStream { return }
        if streams[stream] == nil {
            var parts = RequestParts(
                method: frame.headers.first(name: ":method") ?? "",
                target: frame.headers.first(name: ":path") ?? ""
            )
            for header in frame.headers { parts.add(header: header.name, header.value) }
            streams[stream] = .some(parts)
            if streams.count > maximumStreams {
                maximumStreams = streams.count
                host.streamsOpened(maximumStreams)
            }
        }
        if frame.endStream { complete(stream, context) }
    }

    private func received(
        _ frame: HTTP2Frame.FramePayload.Data,
        on stream: HTTP2StreamID,
        _ context: ChannelHandlerContext
    ) {
        // Padding counts against the windows too.
        let size = frame.data.readableBytes + (frame.paddingBytes.map { $0 + 1 } ?? 0)
        unreturnedBytes += size
        if unreturnedBytes >= Self.connectionWindow / 2 {
            write(context, .rootStream, .windowUpdate(windowSizeIncrement: unreturnedBytes))
            unreturnedBytes = 0
        }
        guard case .some(.some(var parts)) = streams[stream] else { return }
        // The dictionary must not hold a second reference, or the growing body would be copied.
        streams[stream] = .some(nil)
        if case .byteBuffer(let buffer) = frame.data { parts.append(buffer) }
        parts.unreturnedBytes += size
        if parts.unreturnedBytes >= Self.streamWindow / 2, !frame.endStream {
            write(context, stream, .windowUpdate(windowSizeIncrement: parts.unreturnedBytes))
            parts.unreturnedBytes = 0
        }
        streams[stream] = .some(parts)
        if frame.endStream { complete(stream, context) }
    }

    private func complete(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard case .some(.some(let parts)) = streams[stream] else { return }
        streams[stream] = .some(nil)
        let reply = parts.reply(from: host)
        if case .goAway = reply.wire {} else { newestProcessed = max(newestProcessed, stream) }
        guard reply.delayMs > 0 else { return answer(stream, reply, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(reply.delayMs)) {
            let (connection, context) = bound.value
            guard context.channel.isActive else { return }
            connection.answer(stream, reply, context)
            context.flush()
        }
    }

    // MARK: Answers

    private func answer(_ stream: HTTP2StreamID, _ reply: SimulatorReply, _ context: ChannelHandlerContext) {
        guard streams[stream] != nil else { return }
        switch reply.wire {
        case .reset(let code): reset(stream, code, context)
        case .refuseStream: reset(stream, 7, context)
        case .goAway(let code): goAway(before: stream, code, context)
        case .close: context.close(promise: nil)
        case .truncate(let bytes):
            send(stream, reply, bytes: min(bytes, reply.body.count), ends: false, context)
            // A reset drops what is still buffered for its stream.
            context.flush()
            reset(stream, 2, context)
        case .maxConcurrentStreams(let limit):
            if streamLimit != limit {
                streamLimit = limit
                let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)
                write(context, .rootStream, .settings(.settings([setting])))
            }
            send(stream, reply, bytes: reply.body.count, ends: true, context)
        case nil: send(stream, reply, bytes: reply.body.count, ends: true, context)
        }
    }

    private func send(
        _ stream: HTTP2StreamID,
        _ reply: SimulatorReply,
        bytes: Int,
        ends: Bool,
        _ context: ChannelHandlerContext
    ) {
        var headers = HPACKHeaders()
        headers.reserveCapacity(reply.headers.count + 3)
        headers.add(name: ":status", value: String(reply.status))
        for header in reply.headers { headers.add(name: header.name, value: header.value) }
        headers.add(name: "content-length", value: String(reply.body.count))
        headers.add(name: "date", value: dates.now())
        write(context, stream, .headers(.init(headers: headers, endStream: ends && bytes == 0)))
        if bytes > 0 {
            var buffer = context.channel.allocator.buffer(capacity: bytes)
            buffer.writeBytes(reply.body.prefix(bytes))
            write(context, stream, .data(.init(data: .byteBuffer(buffer), endStream: ends)))
        }
        if ends { finished(stream, context) }
    }

    private func reset(_ stream: HTTP2StreamID, _ code: UInt32, _ context: ChannelHandlerContext) {
        write(context, stream, .rstStream(HTTP2ErrorCode(networkCode: Int(code))))
        finished(stream, context)
    }

    private func goAway(before stream: HTTP2StreamID, _ code: UInt32, _ context: ChannelHandlerContext) {
        // A client may send requests above the last stream again, so no processed request may be above it, even if its
        // answer is still delayed.
        let last = max(HTTP2StreamID(max(0, Int(stream) - 2)), newestProcessed)
        guard lastStream.map({ last < $0 }) ?? true else { return finished(stream, context) }
        lastStream = last
        streams = streams.filter { $0.key <= last && $0.key != stream }
        let error = HTTP2ErrorCode(networkCode: Int(code))
        write(context, .rootStream, .goAway(lastStreamID: last, errorCode: error, opaqueData: nil))
        closeWhenDone(context)
    }

    private func finished(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        streams[stream] = nil
        closeWhenDone(context)
    }

    private func drop(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard streams[stream] != nil else { return }
        finished(stream, context)
    }

    /// Closes after a GOAWAY, once the older streams are answered, and 100 ms later: a close right after the frame can
    /// reach the peer as a reset that swallows it.
    private func closeWhenDone(_ context: ChannelHandlerContext) {
        guard lastStream != nil, streams.isEmpty else { return }
        context.flush()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(100)) { bound.value.close(promise: nil) }
    }

    private func write(_ context: ChannelHandlerContext, _ stream: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }
}
