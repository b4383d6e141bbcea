internal import CNGHTTP2
internal import DequeModule
internal import FanfareModel
internal import HTTPLanes

/// The client's side of one HTTP/2 connection, without a socket: bytes go in and out.
///
/// Order of use: ``submit(_:number:)``, ``receive(_:)`` and ``cancel(_:)`` as they come; then, as long as the wire takes
/// bytes, ``fill()``, ``handOver()`` and the bytes of ``output``. nghttp2's callbacks only record facts. Whatever the
/// peer sends, a request ends at most once.
final class HTTP2Session {
    /// The limits of a session. None of them is an estimate of normal traffic: they bound what a peer can make us keep.
    enum Limits {
        /// Bytes of an answer's header block, counted as HTTP/2 counts them.
        static let headerBytes = 16_384
        /// The least window of one answer: a frame.
        static let streamWindow = 16_384
        /// The window of all answers of the connection together, in bytes. The session never holds them back.
        static let connectionWindow: Int32 = 16 << 20
        /// Bytes that ``fill()`` gathers at a time.
        static let outputBytes = 65_536
    }

    private let session: OpaquePointer
    private let maximumBodyBytes: Int
    private let origin: String
    private var block: HeaderBlock?
    /// Requests by the lane's numbers; an entry whose request has ended keeps its buffer.
    private var exchanges: [Exchange] = []
    /// Requests that were not submitted to nghttp2 yet, in order.
    private var waiting: [Int] = []
    private var ended: Deque<(number: Int, cause: Exchange.Cause)> = []
    /// Streams that nghttp2 counts as open.
    private var openStreams = 0

    /// Bytes for the wire.
    var output: [UInt8] = []
    /// The highest stream whose HEADERS were written to ``output``. Streams are numbered and written in ascending order.
    private var writtenID: Int32 = 0
    /// The highest stream of which bytes were handed to TLS.
    private var handedOverID: Int32 = 0

    /// Streams that the server allows; nil before its settings arrived.
    private(set) var serverLimit: Int?
    /// The error code of the server's GOAWAY; nil without one.
    private(set) var goAwayCode: UInt32?
    /// Why nghttp2 gave up the connection, or refused a frame of the peer.
    private var fault = ""
    private var isBroken = false

    /// - Parameters:
    ///   - origin: `https://host[:port]`.
    ///   - maximumBodyBytes: an answer's body beyond this is cut off, unless its request names another limit. A server may
    ///     send so much of one answer before the session confirms any.
    init?(origin: String, maximumBodyBytes: Int) {
        self.origin = origin
        self.maximumBodyBytes = max(0, maximumBodyBytes)
        guard let callbacks = SessionCallbacks.make(), let options = SessionCallbacks.makeOptions() else { return nil }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        var pointer: OpaquePointer?
        let context = UnsafeMutablePointer<Unmanaged<HTTP2Session>?>.allocate(capacity: 1)
        context.initialize(to: nil)
        guard nghttp2_session_client_new2(&pointer, callbacks, context, options) == 0, let pointer else {
            context.deallocate()
            return nil
        }
        session = pointer
        self.context = context
        context.pointee = .passUnretained(self)
        submitPreface()
    }

    /// What nghttp2 passes to the callbacks. A cell, because a session exists before `self` does.
    private let context: UnsafeMutablePointer<Unmanaged<HTTP2Session>?>

    deinit {
        nghttp2_session_del(session)
        context.deallocate()
    }

    private func submitPreface() {
        let entries = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(clamping: min(max(maximumBodyBytes, Limits.streamWindow), 1 << 24))
            ),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(Limits.headerBytes)
            ),
        ]
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        check(nghttp2_submit_settings(session, flags, entries, entries.count))
        check(nghttp2_session_set_local_window_size(session, flags, 0, Limits.connectionWindow))
    }

    /// The error code by which a server asks for less.
    static let enhanceYourCalm = NGHTTP2_ENHANCE_YOUR_CALM.rawValue

    /// The name of an HTTP/2 error code.
    static func name(of code: UInt32) -> String { String(cString: nghttp2_http2_strerror(code)) }

    // MARK: Requests

    /// Takes a request; ``fill()`` writes it when the server allows one more stream.
    func submit(_ request: HTTPRequest, number: Int) {
        while exchanges.count <= number { exchanges.append(Exchange()) }
        let block = self.block.flatMap { $0.fits(request) ? $0 : nil } ?? HeaderBlock(request, origin: origin)
        self.block = block
        exchanges[number].assign(request, block, maximumBodyBytes: max(0, request.maximumBodyBytes ?? maximumBodyBytes))
        waiting.append(number)
    }

    /// Whether the request's HEADERS were not written yet.
    func isHeldBack(_ number: Int) -> Bool {
        let id = exchanges[number].streamID
        return id == 0 || id > writtenID
    }

    /// Requests that were written and have not ended.
    var running: Int { exchanges.indices.count { exchanges[$0].phase == .open && !isHeldBack($0) } }

    /// Ends a request, and resets its stream.
    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd {
        // Its end may have been recorded, and not returned yet.
        if exchanges[number].phase == .ended, let index = ended.firstIndex(where: { $0.number == number }) {
            return finish(number, ended.remove(at: index).cause)
        }
        waiting.removeAll { $0 == number }
        detach(number, resettingWith: NGHTTP2_CANCEL)
        return finish(number, .cancelled(reason: reason, ending))
    }

    /// Bytes that the bodies take that have arrived, of requests that were not returned as ended.
    private(set) var heldBytes = 0

    /// The open request that holds most of ``heldBytes``; nil if there are none.
    var largestAnswer: (number: Int, bytes: Int)? {
        guard heldBytes > 0 else { return nil }
        let open = exchanges.indices.filter { exchanges[$0].phase == .open && !exchanges[$0].answer.isEmpty }
        return open.map { ($0, exchanges[$0].answer.heldBytes) }.max { $0.1 < $1.1 }
    }

    /// Whether ``nextEnd()`` would return a request.
    var hasEnds: Bool { !ended.isEmpty }

    /// Removes and returns a request that has ended by itself.
    func nextEnd() -> (number: Int, end: RequestEnd)? {
        guard let (number, cause) = ended.popFirst() else { return nil }
        return (number, finish(number, cause))
    }

    /// Ends the requests that wait for a stream: the connection gets no further ones.
    func endWaiting(reason: Reason) {
        for number in waiting { record(.connectionEnded(reason: reason), of: number) }
        waiting = []
    }

    /// Ends all requests, because the connection has ended. Bytes of ``output`` that were not handed over are dropped.
    func endAll(reason: Reason) {
        isBroken = true
        waiting = []
        let numbers = exchanges.indices.filter { [.waiting, .open].contains(exchanges[$0].phase) }
        for number in numbers { record(.connectionEnded(reason: reason), of: number) }
    }

    private func record(_ cause: Exchange.Cause, of number: Int) {
        exchanges[number].phase = .ended
        ended.append((number, cause))
    }

    private func finish(_ number: Int, _ cause: Exchange.Cause) -> RequestEnd {
        let id = exchanges[number].streamID
        // What was written leaves, as long as the connection does not end before.
        var lastLeft = writtenID
        if case .connectionEnded = cause { lastLeft = handedOverID }
        let end = exchanges[number].end(cause, isHandedOver: id > 0 && id <= lastLeft)
        heldBytes -= exchanges[number].answer.heldBytes
        exchanges[number].finish()
        return end
    }

    /// Severs a request from its stream, so that no later event of the stream concerns the number.
    private func detach(_ number: Int, resettingWith code: nghttp2_error_code?) {
        let id = exchanges[number].streamID
        guard id > 0 else { return }
        nghttp2_session_set_stream_user_data(session, id, nil)
        guard let code else { return }
        check(nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue))
    }

    // MARK: Bytes

    /// Passes bytes of the peer to nghttp2. Confirmations that they ask for are written to ``output``.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isBroken else { return }
        let count = nghttp2_session_mem_recv(
            session,
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            bytes.count
        )
        if count < 0 { fail(Int32(count)) }
        // Writes confirmations now: nghttp2 ends a connection on which 1,000 of them wait.
        if output.count < Limits.outputBytes, nghttp2_session_want_write(session) != 0 { write() }
    }

    /// Writes frames to ``output``: all that nghttp2 has, and the requests that wait, as far as the server allows.
    func fill() {
        submitWaiting()
        write()
    }

    /// Call it right before the bytes of ``output`` are handed to TLS.
    func handOver() { handedOverID = writtenID }

    /// Asks the peer for a sign of life.
    func ping() { check(nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)) }

    /// Why the connection carries nothing more; nil as long as it does.
    var end: Reason? {
        if isBroken { return "HTTP/2: \(fault)" }
        guard nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 else { return nil }
        if let goAwayCode { return "the server ended the connection: \(Self.name(of: goAwayCode))" }
        return "the server broke HTTP/2: \(fault.isEmpty ? "protocol error" : fault)"
    }

    private var mayOpenStream: Bool {
        goAwayCode == nil && openStreams < serverLimit ?? 0 && nghttp2_session_check_request_allowed(session) != 0
    }

    private func submitWaiting() {
        var submitted = 0
        while submitted < waiting.count, mayOpenStream, !isBroken {
            let number = waiting[submitted]
            submitted += 1
            guard let block = exchanges[number].block else { preconditionFailure("a waiting request has its fields") }
            let id = request(number, block)
            guard id > 0 else {
                record(.connectionEnded(reason: "HTTP/2: \(String(cString: nghttp2_strerror(id)))"), of: number)
                continue
            }
            exchanges[number].open(id)
            openStreams += 1
        }
        waiting.removeFirst(submitted)
    }

    /// - Returns: the stream, or an error of nghttp2.
    private func request(_ number: Int, _ block: HeaderBlock) -> Int32 {
        let length = exchanges[number].body.count
        let fields = block.fields(bodyBytes: length)
        let data = UnsafeMutableRawPointer(bitPattern: number + 1)
        guard length > 0 else {
            return nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, nil, data)
        }
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(number)
        provider.read_callback = SessionCallbacks.read
        return nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, &provider, data)
    }

    private func write() {
        while output.count < Limits.outputBytes, !isBroken {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0 else {
                if count < 0 { fail(Int32(count)) }
                return
            }
            output.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        }
    }

    private func check(_ code: Int32) {
        if code < 0 { fail(code) }
    }

    private func fail(_ code: Int32) {
        isBroken = true
        fault = String(cString: nghttp2_strerror(code))
    }

    // MARK: Facts from callbacks

    /// The request that a stream carries; nil if it has ended.
    private func number(of stream: Int32) -> Int? {
        let data = Int(bitPattern: nghttp2_session_get_stream_user_data(session, stream))
        guard data > 0, exchanges[data - 1].phase == .open, exchanges[data - 1].streamID == stream else { return nil }
        return data - 1
    }

    /// Bytes of the body that the next DATA frame carries; nil if the request has ended.
    func readBody(_ number: Int, stream: Int32, most: Int) -> (count: Int, isLast: Bool)? {
        guard exchanges[number].phase == .open, exchanges[number].streamID == stream else { return nil }
        let rest = exchanges[number].body.count - exchanges[number].writtenBytes
        return (min(rest, most), rest <= most)
    }

    /// Writes a DATA frame to ``output``.
    func writeData(_ number: Int, head: UnsafePointer<UInt8>, count: Int) {
        output.append(contentsOf: UnsafeBufferPointer(start: head, count: 9))
        let from = exchanges[number].writtenBytes
        exchanges[number].body.withUnsafeBufferPointer { body in
            output.append(contentsOf: UnsafeBufferPointer(rebasing: body[from..<from + count]))
        }
        exchanges[number].writtenBytes = from + count
    }

    func recordWritten(_ head: nghttp2_frame_hd) {
        if head.type == UInt8(NGHTTP2_HEADERS.rawValue) { writtenID = max(writtenID, head.stream_id) }
    }

    /// - Returns: false if the header block passes its limit.
    func recordHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, stream: Int32) -> Bool {
        guard let number = number(of: stream) else { return true }
        exchanges[number].headerBytes += name.count + value.count + 32
        guard exchanges[number].headerBytes <= Limits.headerBytes else { return false }
        // What follows the body is no header.
        guard !exchanges[number].hasHeaders else { return true }
        switch name.count {
        case 7 where value.count == 3 && name.isEqual(":status"):
            // Fields of an informational answer before this one say nothing about it.
            exchanges[number].clearFields()
            // nghttp2 has checked that there are three digits.
            exchanges[number].status = Int(value[0]) * 100 + Int(value[1]) * 10 + Int(value[2]) - 48 * 111
        case 12 where name.isEqual("content-type"):
            lastContentType = value.text(last: lastContentType)
            exchanges[number].contentType.join(lastContentType)
        case 11 where name.isEqual("retry-after"):
            exchanges[number].retryAfter.join(value.keptText)
        case 4 where name.isEqual("date"):
            lastDate = value.text(last: lastDate)
            exchanges[number].date.join(lastDate)
        case 15 where exchanges[number].asksForMetadataFlavor && name.isEqual("metadata-flavor"):
            exchanges[number].metadataFlavor.join(value.keptText)
        default: break
        }
        return true
    }

    /// A server writes the same type into nearly every answer, and the same date for a second.
    private var lastContentType = ""
    private var lastDate = ""

    func recordData(_ data: UnsafeBufferPointer<UInt8>, stream: Int32) {
        guard let number = number(of: stream) else { return }
        let kept = min(data.count, exchanges[number].maximumBodyBytes - exchanges[number].answer.count)
        let heldBefore = exchanges[number].answer.heldBytes
        exchanges[number].answer.appendPart(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: data[..<kept])))
        heldBytes += exchanges[number].answer.heldBytes - heldBefore
        guard kept < data.count else { return }
        exchanges[number].isCut = true
        detach(number, resettingWith: NGHTTP2_CANCEL)
        record(.closed(code: NGHTTP2_CANCEL.rawValue), of: number)
    }

    func recordFrame(_ frame: nghttp2_frame) {
        switch nghttp2_frame_type(rawValue: UInt32(frame.hd.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard let number = number(of: frame.hd.stream_id) else { return }
            // Status 1xx is no answer: another header block follows.
            if exchanges[number].status >= 200 { exchanges[number].hasHeaders = true }
            if frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { recordWhole(number, frame.hd.stream_id) }
        case NGHTTP2_SETTINGS:
            let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            serverLimit = Int(limit)
        case NGHTTP2_GOAWAY:
            goAwayCode = frame.goaway.error_code
        default: break
        }
    }

    private func recordWhole(_ number: Int, _ stream: Int32) {
        exchanges[number].isWhole = true
        // A server may answer before it has the whole body. The rest is then not sent.
        let isOver = nghttp2_session_get_stream_local_close(session, stream) == 1
        detach(number, resettingWith: isOver ? nil : NGHTTP2_CANCEL)
        record(.closed(code: NGHTTP2_NO_ERROR.rawValue), of: number)
    }

    func recordClosed(_ stream: Int32, code: UInt32) {
        openStreams -= 1
        guard let number = number(of: stream) else { return }
        record(.closed(code: code), of: number)
    }

    func recordInvalidFrame(_ code: Int32) { fault = String(cString: nghttp2_strerror(code)) }
}
