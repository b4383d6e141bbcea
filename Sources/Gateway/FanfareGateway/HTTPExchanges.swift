internal import FanfareHTTP
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1

/// What answers requests, and the bounds of a request.
struct Responder: Sendable {
    /// Bytes of a body to a path; a longer one is reported as too large.
    var maximumBodyBytes: @Sendable (_ path: String) -> Int
    /// Whether the body of a request is read, by its `Authorization` header and path. Bodies of strangers are dropped as
    /// they arrive.
    var reads: @Sendable (_ authorization: String?, _ path: String) -> Bool
    /// Is cancelled when the client is gone.
    var respond: @Sendable (WebRequest) async -> WebReply
}

/// The requests of one HTTP/1.1 connection, or of one stream of HTTP/2, one after the other.
///
/// ```
///       head            end             answered
/// idle ──────► reading ─────► answering ──────► idle, or closed
///                 │  not whole after 30 s: closed
/// ```
/// The client's end of a connection cancels the answer that is being made. A client that does not read is not read from.
final class HTTPExchanges: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private static let wholeRequest = TimeAmount.seconds(30)

    private let responder: Responder
    private let dates: HTTPDateText
    private let isStream: Bool
    private var request: WebRequest?
    private var limit = 0
    private var keepsAlive = true
    private var patience: Scheduled<Void>?
    private var answering: Task<Void, Never>?
    private var isEnding = false
    /// A read that waits until the client has read.
    private var isReadHeld = false

    /// - Parameter isStream: whether the channel is a stream of HTTP/2, which has one request.
    init(responder: Responder, dates: HTTPDateText, isStream: Bool = false) {
        (self.responder, self.dates, self.isStream) = (responder, dates, isStream)
    }

    // MARK: From the client

    func read(context: ChannelHandlerContext) {
        isReadHeld = !context.channel.isWritable
        if !isReadHeld { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isReadHeld { read(context: context) }
        context.fireChannelWritabilityChanged()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): append(bytes)
        case .end: end(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isEnding = true
            if !isStream, request == nil, answering == nil { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let target = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var headers: [String: String] = [:]
        for (name, value) in head.headers {
            let name = name.lowercased()
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
        let path = String(target.first ?? "")
        // The parent of a stream is its connection; that of a connection is the socket that listens.
        let connection = isStream ? context.channel.parent : context.channel
        request = WebRequest(
            method: head.method.rawValue,
            path: path,
            queryText: target.count > 1 ? String(target[1]) : "",
            headers: headers,
            peer: connection?.remoteAddress?.ipAddress ?? ""
        )
        limit = responder.reads(headers["authorization"], path) ? responder.maximumBodyBytes(path) : 0
        keepsAlive = head.isKeepAlive
        if headers["expect"]?.lowercased() == "100-continue", !isStream {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))),
                promise: nil
            )
        }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        patience = context.eventLoop.scheduleTask(in: Self.wholeRequest) { bound.value.close(promise: nil) }
    }

    private func append(_ bytes: ByteBuffer) {
        guard request != nil, request?.isBodyTooLarge == false else { return }
        if (request?.body.count ?? 0) + bytes.readableBytes > limit {
            // The rest is read and dropped: a client that still writes would not read the answer.
            request?.isBodyTooLarge = true
            request?.body = []
        } else {
            request?.body.append(contentsOf: bytes.readableBytesView)
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard let request else { return }
        self.request = nil
        patience?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        answering = Task { [responder, loop = context.eventLoop] in
            let reply = await responder.respond(request)
            loop.execute {
                let (exchanges, context) = bound.value
                exchanges.write(reply, isHead: request.method == "HEAD", context)
            }
        }
    }

    private func finish() {
        patience?.cancel()
        patience = nil
        request = nil
        answering?.cancel()
        answering = nil
    }

    // MARK: To the client

    private func write(_ reply: WebReply, isHead: Bool, _ context: ChannelHandlerContext) {
        // Without it, the client left meanwhile.
        guard answering != nil, context.channel.isActive else {
            reply.onEnd?(false)
            return
        }
        answering = nil
        var headers = HTTPHeaders()
        if let type = reply.type { headers.add(name: "content-type", value: type) }
        for (name, value) in reply.headers { headers.add(name: name.lowercased(), value: value) }
        headers.add(name: "content-length", value: String(reply.bytes.count))
        headers.add(name: "date", value: dates.now())
        let isLast = !isStream && (!keepsAlive || isEnding)
        if isLast { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: nil
        )
        if !isHead, !reply.bytes.isEmpty {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: reply.bytes)))),
                promise: nil
            )
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        if let onEnd = reply.onEnd {
            written.futureResult.whenComplete { result in
                if case .success = result { onEnd(true) } else { onEnd(false) }
            }
        }
        if isLast {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            written.futureResult.whenComplete { _ in bound.value.close(promise: nil) }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }
}
