internal import FanfareHTTP
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP2

/// A connection, as an ``HTTPExchange`` uses it. Its calls are made on the connection's loop.
protocol HTTPWire: AnyObject {
    var server: HTTPConnections { get }
    var loop: any EventLoop { get }
    var answers: WaitingAnswers { get }
    var sent: SentAnswers { get }
    var key: KnownKey { get set }
    var isActive: Bool { get }

    /// Asks a client that waits for it to send its body.
    func askForBody()
    /// There is room for more of a body.
    func readOn(_ exchange: HTTPExchange)
    /// - Parameter length: nil for a body that follows in pieces.
    func writeHead(_ reply: WebReply, length: Int?, of exchange: HTTPExchange)
    func writeBody(_ bytes: [UInt8], isEnd: Bool, of exchange: HTTPExchange, _ written: EventLoopPromise<Void>)
    func flush()
    /// The end of an answer to a whole request follows.
    /// - Returns: false if the connection closes then.
    func staysOpen(after exchange: HTTPExchange) -> Bool
    /// A request that was answered before its end has ended.
    func endedAfterItsAnswer(_ exchange: HTTPExchange)
    /// Ends a stream with a code, or the connection of HTTP/1.1.
    func end(_ exchange: HTTPExchange, _ code: HTTP2ErrorCode)
    func close()
}

/// The replies of one connection that wait for its loop. All replies of one turn are flushed together.
final class WaitingAnswers: Sendable {
    private let loop: any EventLoop
    private let waiting = NIOLockedValueBox<[(exchange: NIOLoopBound<HTTPExchange>, reply: WebReply)]>([])

    init(on loop: any EventLoop) { self.loop = loop }

    /// - Returns: takes the reply, once and on any thread.
    func reply(to exchange: HTTPExchange) -> @Sendable (WebReply) -> Void {
        let bound = NIOLoopBound(exchange, eventLoop: loop)
        return { [self] reply in
            let isFirst = waiting.withLockedValue { waiting in
                waiting.append((bound, reply))
                return waiting.count == 1
            }
            if isFirst { loop.execute { self.write(to: bound.value.wire) } }
        }
    }

    private func write(to wire: any HTTPWire) {
        let answers = waiting.withLockedValue { waiting in
            defer { waiting = [] }
            return waiting
        }
        for answer in answers { answer.exchange.value.answer(with: answer.reply) }
        wire.flush()
        for answer in answers { answer.exchange.value.awaitTaken() }
    }
}

extension WebReply {
    /// Calls a function with the name, in lower case, and the value of each header of an answer.
    ///
    /// - Parameter length: nil for a body that follows in pieces.
    func forEachHeader(length: Int?, date: String, _ add: (_ name: String, _ value: String) -> Void) {
        if let type { add("content-type", type) }
        for (name, value) in headers { add(name.inLowerCase, value) }
        if let length, status != 204 { add("content-length", String(length)) }
        add("date", date)
    }
}

extension String {
    /// The text itself in the usual case, in which it has no capitals.
    var inLowerCase: String { utf8.contains { (0x41...0x5A).contains($0) } ? lowercased() : self }
}
