internal import EventLoop
internal import FanfareModel
internal import HTTPLanes
internal import SocketTransport

/// A lane's connection over ``HTTP2Session`` and a TLS stream.
///
///     connecting ─► opened ─► (the server's settings: the lane is ready) ─► over        any failure: over
///
/// It reads when the pool pumps the lane, and writes all frames of a turn when the pool flushes it.
final class NGHTTP2Connection: LaneConnection {
    private let loop: EventLoop
    private unowned let lane: Lane
    private let configuration: OriginConfiguration
    private let session: HTTP2Session
    private let stream: TLSStream
    private var health: ConnectionHealth
    private var openedAtMs: Int64
    private var isOpen = false
    /// The stream is ready, and was not read since.
    private var isReady = false
    private var isOver = false

    init?(loop: EventLoop, configuration: OriginConfiguration, origin: Origin, lane: Lane) {
        guard let session = HTTP2Session(origin: origin.text, maximumBodyBytes: configuration.maximumBodyBytes) else {
            return nil
        }
        self.loop = loop
        self.lane = lane
        self.configuration = configuration
        self.session = session
        var peer = TLSStreamConfiguration(host: origin.host, port: origin.port, caFile: configuration.caFile)
        // A server that speaks only HTTP/1.1 is then told apart from one that speaks no TLS.
        peer.protocols = ["h2", "http/1.1"]
        peer.connectTimeoutMs = configuration.connectTimeoutMs
        peer.userTimeoutMs = Int32(clamping: configuration.userTimeoutMs)
        stream = TLSStream(loop: loop, configuration: peer)
        openedAtMs = loop.nowMs
        health = ConnectionHealth(answerMs: Int64(configuration.userTimeoutMs), nowMs: openedAtMs)
        stream.onEvent = { [unowned self] in handle($0) }
        stream.onReady = { [unowned self, unowned lane] in
            isReady = true
            lane.enlist()
        }
        stream.open()
    }

    func submit(_ request: HTTPRequest, number: Int) -> Bool {
        // The pool does not tick an idle connection.
        if lane.state.inFlight == 1 { health.restart(nowMs: loop.nowMs) }
        session.submit(request, number: number)
        return true
    }

    func isHeldBack(_ number: Int) -> Bool { session.isHeldBack(number) }

    var running: Int { session.running }

    var heldBytes: Int { session.heldBytes }

    var largestAnswer: (number: Int, bytes: Int)? { session.largestAnswer }

    func nextEnd() -> (number: Int, end: RequestEnd)? { session.nextEnd() }

    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd {
        session.cancel(number, reason: reason, as: ending)
    }

    // MARK: Reading and writing

    func pump() {
        guard isReady, !isOver else { return }
        isReady = false
        do throws(SocketError) {
            try stream.writeRest()
            let mayHaveMore = try stream.read { receive($0) }
            if mayHaveMore {
                isReady = true
                lane.enlist()
            }
        } catch {
            // What arrived before the end counts: a GOAWAY says more than the end itself.
            apply()
            return end(error.reason)
        }
        apply()
    }

    func flush() {
        guard isOpen, !isOver else { return }
        do throws(SocketError) {
            // TLS itself may have something to say.
            try stream.writeRest()
            while stream.isWritable {
                // Together with the confirmations that reading has left there.
                session.fill()
                guard !session.output.isEmpty else { break }
                session.handOver()
                try stream.write(&session.output)
            }
        } catch {
            return end(error.reason)
        }
        apply()
        if session.hasEnds { lane.enlist() }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        health.received(nowMs: loop.nowMs)
        session.receive(bytes)
    }

    /// Tells the lane what the session has learned.
    private func apply() {
        if let limit = session.serverLimit, limit != lane.state.serverLimit { lane.state.opened(streams: limit) }
        if let code = session.goAwayCode {
            let isCalm = code != HTTP2Session.enhanceYourCalm
            if isCalm { lane.state.retire() } else { lane.state.retireOverloaded(nowMs: loop.nowMs) }
            session.endWaiting(reason: "the server ended the connection")
        }
        if let reason = session.end { end(reason) }
    }

    // MARK: The connection

    private func handle(_ event: TLSStream.Event) {
        switch event {
        case .opened: opened()
        // The connection reads itself.
        case .received: break
        case .closed(let reason): end(reason)
        }
    }

    private func opened() {
        guard stream.negotiatedProtocol == "h2" else {
            return end("the server does not speak HTTP/2; set http_engine: curl")
        }
        isOpen = true
        openedAtMs = loop.nowMs
        lane.enlist()
        flush()
    }

    func tick(nowMs: Int64) {
        guard isOpen, !isOver else { return }
        if lane.state.phase == .opening, nowMs - openedAtMs >= configuration.connectTimeoutMs {
            return end(Reason(.timeout, "no HTTP/2 settings within \(configuration.connectTimeoutMs) ms"))
        }
        switch health.tick(isBusy: session.running > 0, nowMs: nowMs) {
        case .none: break
        case .ping:
            session.ping()
            lane.enlist()
        case .giveUp: end(Reason(.timeout, "the server answered no PING within \(health.answerMs) ms"))
        }
    }

    private func end(_ reason: Reason) {
        guard !isOver else { return }
        isOver = true
        let reason = reason.withRemedy
        lane.reason = reason
        lane.state.retire()
        session.endAll(reason: reason)
        lane.enlist()
    }

    func close() {
        isOver = true
        stream.close()
    }
}
