import FCMSimulator
import FanfareHTTP
import NIOCore
import NIOHTTP1

/// One HTTP/1.1 connection. A fault that would reset a stream ends the connection.
final class HTTP1Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let host: SimulatorHost
    private let dates = HTTPDateText()
    private var parts: RequestParts?
    private var keepsAlive = true

    init(host: SimulatorHost) {
        self.host = host
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            var parts = RequestParts(method: head.method.rawValue, target: head.uri)
            for header in head.headers { parts.add(header: header.name.lowercased(), header.value) }
            keepsAlive = head.isKeepAlive
            let isHTTP10 = head.version == .http1_0
            if let sentence = HostRule.fault(hosts: head.headers["host"], isHTTP10: isHTTP10) {
                parts.refuse(400, sentence)
                // Close the connection: the boundary between this request and the next is in doubt.
                keepsAlive = false
            }
            self.parts = parts
            if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
                let head = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
            }
        case .body(let buffer): parts?.append(buffer)
        case .end:
            guard let parts else { return }
            self.parts = nil
            host.streamsOpened(1)
            let reply = parts.reply(from: host)
            guard reply.delayMs > 0 else { return answer(reply, context) }
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .milliseconds(reply.delayMs)) {
                let (connection, context) = bound.value
                if context.channel.isActive { connection.answer(reply, context) }
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ reply: SimulatorReply, _ context: ChannelHandlerContext) {
        switch reply.wire {
        case .reset, .refuseStream, .goAway, .close: context.close(promise: nil)
        case .truncate(let bytes):
            send(reply, bytes: min(bytes, reply.body.count), context)
            context.flush()
            context.close(promise: nil)
        case .maxConcurrentStreams, nil:
            send(reply, bytes: reply.body.count, context)
            let promise = context.eventLoop.makePromise(of: Void.self)
            if !keepsAlive {
                let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                promise.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
            }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: promise)
        }
    }

    private func send(_ reply: SimulatorReply, bytes: Int, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders()
        for header in reply.headers { headers.add(name: header.name, value: header.value) }
        headers.add(name: "content-length", value: String(reply.body.count))
        headers.add(name: "date", value: dates.now())
        if !keepsAlive { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        var buffer = context.channel.allocator.buffer(capacity: bytes)
        buffer.writeBytes(reply.body.prefix(bytes))
        context.write(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
    }
}
