internal import CNGHTTP2
internal import FanfareModel
internal import HTTPLanes

/// What is known of one request on a connection, and of its answer.
struct Exchange {
    /// How a request came to its end.
    enum Cause: Equatable {
        /// The stream was closed, with HTTP/2's error code.
        case closed(code: UInt32)
        case connectionEnded(reason: Reason)
        /// The pool ended it.
        case cancelled(reason: Reason, LaneState.Ending)
    }

    /// A request's way. After `ended` the number is free for the next request.
    ///
    ///     free ─► waiting ─► open ─► ended ─► free        waiting: for a stream; ended: recorded, not reported yet
    ///                └─────────┴───────────────▲          a cancelled request is not recorded
    enum Phase { case free, waiting, open, ended }

    var phase = Phase.free
    /// 0 before the request was submitted to nghttp2.
    private(set) var streamID: Int32 = 0
    /// The request's header fields; nil once they were submitted.
    private(set) var block: HeaderBlock?
    /// The request's body.
    var body: [UInt8] = []
    /// Bytes of the body that were written into frames.
    var writtenBytes = 0
    /// The answer's body is cut beyond this.
    private(set) var maximumBodyBytes = 0
    var asksForDate = false
    var asksForMetadataFlavor = false

    /// Status of the last header block, informational ones included; 0 before one began.
    var status = 0
    /// The answer's header block has arrived in full.
    var hasHeaders = false
    /// Bytes of names and values received, each field with 32 bytes more, as HTTP/2 counts them.
    var headerBytes = 0
    var contentType: String?
    var retryAfter: String?
    var date: String?
    var metadataFlavor: String?
    var answer: [UInt8] = []
    /// The answer's body passed the limit and was cut.
    var isCut = false
    /// END_STREAM arrived, and the length of the body is the one that the answer declares.
    var isWhole = false

    /// Bytes of capacity that an answer's buffer keeps for the next answer.
    private static let keptCapacity = 4_096

    /// Empties the record for the next request; keeps the buffer, so that an answer costs no allocation as long as the
    /// last one was let go.
    mutating func assign(_ request: HTTPRequest, _ block: HeaderBlock, maximumBodyBytes: Int) {
        precondition(phase == .free, "the number's last request has not ended")
        var buffer = answer
        answer = []
        buffer.removeAll(keepingCapacity: true)
        self = Exchange()
        phase = .waiting
        self.block = block
        answer = buffer
        body = request.body
        self.maximumBodyBytes = maximumBodyBytes
        asksForDate = request.asksForDate
        asksForMetadataFlavor = request.asksForMetadataFlavor
    }

    mutating func clearFields() { (contentType, retryAfter, date, metadataFlavor) = (nil, nil, nil, nil) }

    mutating func open(_ stream: Int32) {
        phase = .open
        streamID = stream
        block = nil
    }

    /// Frees the number; a small buffer stays.
    mutating func finish() {
        if answer.capacity > Self.keptCapacity { answer = [] }
        phase = .free
        streamID = 0
        block = nil
        body = []
    }

    /// The end of the request, with the class of its outcome by proof.
    ///
    /// - Parameter isHandedOver: whether a byte of the request's HEADERS was handed to TLS, or will be: frames that were
    ///   written leave as long as the connection lives.
    func end(_ cause: Cause, isHandedOver: Bool) -> RequestEnd {
        if hasHeaders {
            let answered = isCut ? LaneState.Ending.cut(isMultiplexed: true) : .answered(isMultiplexed: true)
            return RequestEnd(proof: .answered(httpAnswer), ending: isWhole || isCut ? answered : ending(cause))
        }
        let (reason, ending) = (reason(cause), ending(cause))
        if !isHandedOver {
            switch cause {
            case .cancelled: return RequestEnd(proof: .unsent, reason: reason, mayMove: false, ending: ending)
            case .connectionEnded: return RequestEnd(proof: .unsent, reason: reason, mayMove: true, ending: ending)
            // nghttp2 closes a stream that it may not begin. The server has said nothing about it.
            case .closed: return RequestEnd(proof: .unsent, reason: reason, mayMove: true, ending: .withdrawn)
            }
        }
        let isRefused = cause == .closed(code: NGHTTP2_REFUSED_STREAM.rawValue)
        return RequestEnd(proof: isRefused ? .refused : .ambiguous, reason: reason, ending: ending)
    }

    private var httpAnswer: HTTPAnswer {
        HTTPAnswer(
            status: status,
            body: answer,
            isComplete: isWhole && !isCut,
            contentType: contentType,
            retryAfter: retryAfter,
            date: retryAfter != nil || asksForDate ? date : nil,
            metadataFlavor: metadataFlavor
        )
    }

    private func ending(_ cause: Cause) -> LaneState.Ending {
        switch cause {
        case .closed(NGHTTP2_REFUSED_STREAM.rawValue): .refused(isEarlier: false)
        case .closed(let code): .streamFailed(isCalm: code != NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        case .connectionEnded: .connectionFailed(isEarlier: false)
        case .cancelled(_, let ending): ending
        }
    }

    private func reason(_ cause: Cause) -> Reason {
        switch cause {
        case .closed(NGHTTP2_REFUSED_STREAM.rawValue): "the server refused the stream"
        case .closed(let code): "the stream was reset: \(HTTP2Session.name(of: code))"
        case .connectionEnded(let reason), .cancelled(let reason, _): reason
        }
    }
}
