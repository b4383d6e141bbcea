internal import FanfareHTTP
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2

/// A connection of HTTP/1.1: its exchanges, one after the other.
final class HTTP1Connection: ChannelDuplexHandler, HTTPWire {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    let server: HTTPConnections
    let loop: any EventLoop
    let answers: WaitingAnswers
    let sent: SentAnswers
    var key = KnownKey()
    private let clock: RequestClock
    private let peer: String
    private var context: ChannelHandlerContext?
    /// The exchange whose request is not whole or not answered; nil between requests.
    private var exchange: HTTPExchange?
    private var isHTTP10 = false
    private var keepsAlive = true
    private var isEnding = false
    private var isReadHeld = false

    init(_ server: HTTPConnections, on channel: any Channel, sent: SentAnswers, clocks: ConnectionClocks) {
        (self.server, loop, self.sent, clock) = (server, channel.eventLoop, sent, clocks.request)
        answers = WaitingAnswers(on: channel.eventLoop)
        peer = channel.remoteAddress?.ipAddress ?? ""
    }

    // MARK: From the client

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish()
        self.context = nil
    }

    func read(context: ChannelHandlerContext) {
        isReadHeld = exchange?.readsOn == false
        if !isReadHeld { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            (keepsAlive, isHTTP10) = (head.isKeepAlive, head.version == .http1_0)
            let exchange = HTTPExchange(self, clock: clock)
            self.exchange = exchange
            let request = WebRequest(head, peer: peer)
            exchange.begin(request, isContinueOwed: request.headers["expect"]?.lowercased() == "100-continue")
        case .body(let bytes): exchange?.receive(bytes)
        case .end: exchange?.end()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { close() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isEnding = true
            if exchange == nil { close() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func finish() {
        exchange?.finish()
        exchange = nil
    }

    // MARK: To the client

    var isActive: Bool { context?.channel.isActive == true }

    func askForBody() {
        write(.head(HTTPResponseHead(version: .http1_1, status: .continue)), nil)
        flush()
    }

    func readOn(_ exchange: HTTPExchange) {
        if isReadHeld, let context { read(context: context) }
    }

    func writeHead(_ reply: WebReply, length: Int?, of exchange: HTTPExchange) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(reply.headers.count + 4)
        reply.forEachHeader(length: length, date: server.dates.now()) { headers.add(name: $0, value: $1) }
        // The end of a body without length is the connection's for HTTP/1.0. A request that is not whole is not read on.
        if !exchange.isWhole || isEnding || (isHTTP10 && length == nil) { keepsAlive = false }
        if !keepsAlive { headers.add(name: "connection", value: "close") }
        let version: HTTPVersion = isHTTP10 && length == nil ? .http1_0 : .http1_1
        write(.head(HTTPResponseHead(version: version, status: .init(statusCode: reply.status), headers: headers)), nil)
    }

    func writeBody(_ bytes: [UInt8], isEnd: Bool, of exchange: HTTPExchange, _ written: EventLoopPromise<Void>) {
        if !bytes.isEmpty || !isEnd { write(.body(.byteBuffer(ByteBuffer(bytes: bytes))), isEnd ? nil : written) }
        if isEnd { write(.end(nil), written) }
    }

    func flush() { context?.flush() }

    func staysOpen(after exchange: HTTPExchange) -> Bool {
        self.exchange = nil
        clock.awaitNext()
        return keepsAlive && !isEnding
    }

    func endedAfterItsAnswer(_ exchange: HTTPExchange) { exchange.closeOnceTaken() }

    func end(_ exchange: HTTPExchange, _ code: HTTP2ErrorCode) { close() }

    func close() { context?.close(promise: nil) }

    private func write(_ part: HTTPServerResponsePart, _ promise: EventLoopPromise<Void>?) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
