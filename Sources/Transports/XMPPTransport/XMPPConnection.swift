internal import EventLoop
internal import ExpatKit
internal import FCMWire
internal import FanfareModel
internal import SocketTransport

/// One connection: performs what its ``XMPPSession`` decides.
///
/// The pool gets its actions through `onAction`, never from within a call it makes, except `send`'s and `close`'s
/// outcomes.
final class XMPPConnection {
    private let loop: EventLoop
    private let stream: TLSStream
    private let parser: XMLStreamParser
    private(set) var session: XMPPSession
    private var timer: (id: TimerID, atMs: Int64)?

    /// Receives the actions that concern the pool: outcomes, deliveries, incidents.
    var onAction: (XMPPConnection, XMPPSession.Action) -> Void = { _, _ in }
    /// Receives the reason of the end, as the last call.
    var onEnd: (XMPPConnection, Reason) -> Void = { _, _ in }

    /// When messages could first be sent; nil before.
    private(set) var readySinceMs: Int64?
    /// When a message was last sent.
    private(set) var lastUsedMs: Int64
    /// True when the end is intended and counts as no failure.
    var isMeantToEnd = false
    /// True when FCM refused the credential.
    var isRefused = false
    /// Set while it is on the pool's list of connections to flush.
    var isListed = false

    init(loop: EventLoop, configuration: XMPPConfiguration) {
        self.loop = loop
        stream = TLSStream(loop: loop, configuration: configuration.address)
        parser = XMLStreamParser()
        session = XMPPSession(configuration.session)
        lastUsedMs = loop.nowMs
        stream.onEvent = { [unowned self] event in handleStream(event) }
    }

    var isOpening: Bool {
        switch session.phase {
        case .idle, .opening, .authenticating, .restarting, .binding: true
        case .ready, .draining, .closing, .closed: false
        }
    }

    func open() { stream.open() }

    func send(_ message: WaitingMessage) {
        lastUsedMs = loop.nowMs
        handle(.send(tag: message.tag, messageID: message.messageID, to: message.to, json: message.json))
    }

    func acknowledge(_ number: UInt64) { handle(.acknowledge(number)) }

    func stop(_ reason: Reason) { handle(.stop(reason: reason)) }

    func flush() { stream.flush() }

    // MARK: Events

    private func handleStream(_ event: TLSStream.Event) {
        switch event {
        case .opened: handle(.connected)
        case .received(let bytes): received(bytes)
        case .closed(let reason): finish(reason, handedOver: stream.handedOver)
        }
    }

    private func received(_ bytes: [UInt8]) {
        handle(.receivedBytes)
        do throws(XMLStreamError) {
            for event in try parser.feed(bytes) { handle(.arrived(event)) }
            if let failure = parser.failure { throw failure }
        } catch {
            handle(.unreadable(reason: Reason(error.reason)))
        }
    }

    private func handle(_ event: XMPPSession.Event) {
        for action in session.handle(event, nowMs: loop.nowMs) { perform(action) }
        arm()
    }

    private func perform(_ action: XMPPSession.Action) {
        switch action {
        case .write(let bytes): stream.send(bytes)
        case .restartParser: parser.restart()
        case .becameReady:
            readySinceMs = loop.nowMs
            onAction(self, action)
        case .close(let reason): end(reason)
        case .startedDraining, .complete, .deliver, .report, .refusedCredential: onAction(self, action)
        }
    }

    /// Closes the stream. The footer is sent only when nothing waits before it: flushing it would also send a message
    /// that counts as unsent.
    private func end(_ reason: Reason) {
        let handedOver = stream.handedOver
        if stream.accepted == handedOver {
            stream.send(XMPPSession.footer)
            stream.flush()
        }
        stream.close()
        finish(reason, handedOver: handedOver)
    }

    private func finish(_ reason: Reason, handedOver: UInt64) {
        guard session.phase != .closed else { return }
        let actions = session.handle(.lost(reason: reason, handedOver: handedOver), nowMs: loop.nowMs)
        if let timer { loop.cancel(timer.id) }
        timer = nil
        for action in actions { onAction(self, action) }
        onEnd(self, reason)
    }

    /// The timer may be early, never late: an early one finds nothing due and is set again. So it is left alone when a
    /// deadline moves away, as they do with every message.
    private func arm() {
        guard let due = session.nextDeadlineMs else { return }
        if let timer {
            if timer.atMs <= due { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(afterMilliseconds: max(0, due - loop.nowMs)) { [unowned self] in
            timer = nil
            handle(.tick)
        }
        timer = (id, due)
    }
}
