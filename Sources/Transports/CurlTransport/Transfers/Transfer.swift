internal import CCurl
internal import CHTTP2Observer
internal import FanfareModel
internal import Glibc
internal import HTTPLanes

/// One easy handle and the request it carries now. Made once, used for many requests.
///
/// The callbacks write into it and never call back; it is read after libcurl has returned. The store keeps every
/// transfer alive until its handle is cleaned up, so libcurl may hold plain pointers to it.
final class Transfer {
    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let defaultMaxBodyBytes: Int
    private var maximumBodyBytes = 0
    private var isClosed = false

    private(set) var request = HTTPRequest(tag: 0, url: "")
    /// The lane's number of the request.
    private(set) var number = 0
    private var headerList: HeaderList?
    private var url = ""
    private var method: HTTPMethod?
    private weak var preparedFor: CurlConnection?

    /// Index in its connection's list.
    var position = 0

    /// Set while it runs.
    private var connection: CurlConnection?
    /// Generation of the connection on which libcurl began to read the body; nil before.
    private(set) var readGeneration: Int?
    /// Bytes of the body that libcurl has read.
    private var bytesRead = 0
    /// libcurl tried to send the request a second time, and the transfer refused.
    private(set) var wasKeptFromRepeating = false
    /// The observer's record of the stream that carries the body.
    private let stream: UnsafeMutablePointer<chttp2_stream>
    private(set) var answer: [UInt8] = []
    private var overflowed = false
    private var lastContentType = ""

    init?(configuration: OriginConfiguration, trust: TrustStore, share: ConnectionShare) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        defaultMaxBodyBytes = max(0, configuration.maximumBodyBytes)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        stream = .allocate(capacity: 1)
        stream.initialize(to: chttp2_stream())
        chttp2_observe(stream, easy)
        let context = Unmanaged.passUnretained(self).toOpaque()
        Curl.set(easy, CURLOPT_PRIVATE, pointer: context)
        Curl.set(easy, CURLOPT_ERRORBUFFER, pointer: errorText)
        Curl.set(easy, CURLOPT_READDATA, pointer: context)
        Curl.check(ccurl_set_transfer(easy, CURLOPT_READFUNCTION, transferRead), CURLOPT_READFUNCTION)
        Curl.set(easy, CURLOPT_SEEKDATA, pointer: context)
        Curl.check(ccurl_set_seek(easy, transferSeek), CURLOPT_SEEKFUNCTION)
        Curl.set(easy, CURLOPT_OPENSOCKETDATA, pointer: context)
        Curl.check(ccurl_set_open(easy, transferOpenSocket), CURLOPT_OPENSOCKETFUNCTION)
        Curl.set(easy, CURLOPT_WRITEDATA, pointer: context)
        Curl.check(ccurl_set_transfer(easy, CURLOPT_WRITEFUNCTION, transferWrite), CURLOPT_WRITEFUNCTION)
        Curl.set(easy, CURLOPT_SHARE, pointer: share.handle)
        ConnectionOptions.apply(configuration, trust: trust, to: easy)
    }

    deinit { assert(isClosed, "closed on the loop first") }

    func close() {
        isClosed = true
        curl_easy_cleanup(easy)
        chttp2_forget(stream)
        stream.deallocate()
        headerList = nil
        errorText.deallocate()
    }

    func prepare(_ request: HTTPRequest, number: Int, headers: HeaderList, connection: CurlConnection) {
        self.request = request
        self.number = number
        bytesRead = 0
        readGeneration = nil
        wasKeptFromRepeating = false
        maximumBodyBytes = max(0, request.maximumBodyBytes ?? defaultMaxBodyBytes)
        resetStream()
        overflowed = false
        errorText[0] = 0
        if url != request.url {
            url = request.url
            Curl.set(easy, CURLOPT_URL, url)
        }
        if method != request.method {
            let isOther = method == .delete || request.method == .delete
            method = request.method
            Curl.set(easy, request.method == .post ? CURLOPT_POST : CURLOPT_HTTPGET, 1)
            // DELETE is sent as a GET of another name: neither has a body, and both may be sent twice.
            if isOther { Curl.set(easy, CURLOPT_CUSTOMREQUEST, request.method == .delete ? "DELETE" : nil) }
        }
        if request.method == .post {
            let code = ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
            Curl.check(code, CURLOPT_POSTFIELDSIZE_LARGE)
        }
        if headerList !== headers {
            headerList = headers
            Curl.check(ccurl_set_list(easy, CURLOPT_HTTPHEADER, headers.list), CURLOPT_HTTPHEADER)
        }
        if preparedFor !== connection {
            preparedFor = connection
            connection.adopt(easy)
        }
        self.connection = connection
    }

    var hasBody: Bool { !request.body.isEmpty }

    /// Whether libcurl has yet to read the first byte of the body. False for a request without a body.
    var isUnread: Bool { hasBody && bytesRead == 0 }

    /// Read when the transfer is over, before its handle is used again.
    /// - Parameter code: what libcurl returned; nil when the pool ended it.
    func facts(code: Int?, giveUp: Reason? = nil) -> TransferFacts {
        var facts = TransferFacts(code: code, hasBody: hasBody, bytesRead: bytesRead, giveUp: giveUp)
        facts.wasKeptFromRepeating = wasKeptFromRepeating
        facts.receivedBytes = answer.count
        facts.undeliveredBytes = stream.pointee.pending_length
        facts.overflowed = overflowed
        if let code, code != CurlCode.ok {
            facts.streamError = stream.pointee.error
            facts.proxyStatus = Curl.long(easy, CURLINFO_HTTP_CONNECTCODE)
            facts.verifyResult = Curl.long(easy, CURLINFO_SSL_VERIFYRESULT)
        }
        // libcurl's error about an unreadable private CA contains the path, which must not be shown.
        if errorText[0] != 0, code != Int(CURLE_SSL_CACERT_BADFILE.rawValue) {
            facts.errorText = String(cString: errorText)
        }
        // A handle that never got as far as a connection still shows the answer of its last transfer.
        if code != nil || !isUnread {
            facts.status = Curl.long(easy, CURLINFO_RESPONSE_CODE)
            facts.declaredBytes = Curl.offset(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        }
        // libcurl may send a request without a body more than once: the refusal may be about any of these sends.
        if hasBody, bytesRead > 0 {
            facts.refused = stream.pointee.error == CurlCode.refusedStream
            let status = Int(stream.pointee.status)
            // A status of 2xx is a success. Any other status needs the lost headers: the wait and the reason.
            if facts.status < 200, (200..<300).contains(status) {
                facts.status = status
                facts.isOnlyStatus = true
            }
        }
        return facts
    }

    /// Clears the observer's record before a request and before its body: libcurl may send the headers more than once.
    private func resetStream() {
        stream.pointee.error = 0
        stream.pointee.status = 0
        stream.pointee.content_type.0 = 0
        chttp2_keep(stream, request.usesCutBody ? maximumBodyBytes : 0)
    }

    /// The body as far as it has arrived: what libcurl delivered, and what it had received when the stream was reset.
    private var arrivedBody: [UInt8] {
        let pending = UnsafeBufferPointer(start: stream.pointee.pending, count: stream.pointee.pending_length)
        return answer + pending.prefix(maximumBodyBytes - answer.count)
    }

    func answered(status: Int, isComplete: Bool) -> HTTPAnswer {
        let retryAfter = Curl.header(easy, "retry-after")
        return HTTPAnswer(
            status: status,
            body: stream.pointee.pending_length == 0 ? answer : arrivedBody,
            isComplete: isComplete,
            contentType: contentType() ?? observedContentType(),
            retryAfter: retryAfter,
            date: retryAfter != nil || request.asksForDate ? Curl.header(easy, "date") : nil,
            metadataFlavor: request.asksForMetadataFlavor ? Curl.header(easy, "metadata-flavor") : nil
        )
    }

    /// A server writes the same type into nearly every answer, so a handle keeps the text of the last one. libcurl keeps
    /// the last of several.
    private func contentType() -> String? {
        if Curl.header(easy, "content-type", at: 1) != nil { return Curl.header(easy, "content-type") }
        guard let bytes = Curl.bytes(easy, CURLINFO_CONTENT_TYPE) else { return nil }
        if lastContentType.withCString({ strcmp($0, bytes) }) != 0 { lastContentType = Curl.keptText(bytes) }
        return lastContentType
    }

    /// The content type that the observer saw, for an answer whose headers libcurl dropped.
    private func observedContentType() -> String? {
        guard hasBody, bytesRead > 0, stream.pointee.content_type.0 != 0 else { return nil }
        return withUnsafeBytes(of: &stream.pointee.content_type) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Whether the connection multiplexes; nil before an answer's headers have arrived.
    var isMultiplexed: Bool? {
        switch Curl.long(easy, CURLINFO_HTTP_VERSION) {
        case 0: nil
        case Int(CURL_HTTP_VERSION_1_0), Int(CURL_HTTP_VERSION_1_1): false
        default: true
        }
    }

    /// Of a transfer that was started.
    var hasNoAnswer: Bool { Curl.long(easy, CURLINFO_RESPONSE_CODE) == 0 }

    /// The transfer has ended and waits for its next request.
    func leftConnection() {
        connection = nil
        answer = []
        chttp2_keep(stream, 0)
    }

    static func of(_ easy: UnsafeMutableRawPointer) -> Transfer? {
        var context: UnsafeMutableRawPointer?
        guard ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else { return nil }
        return Curl.owner(of: context)
    }

    // MARK: Callbacks

    /// Whether libcurl may send the request from its beginning; false once it has taken any of the body.
    ///
    /// libcurl sends a request again when the server refused its stream, and when a connection that was used before
    /// ends without an answer. It does not report which, and it does not wait. The pool sends refused requests again
    /// itself.
    fileprivate func mayStartOver() -> Bool {
        if bytesRead > 0 { wasKeptFromRepeating = true }
        return bytesRead == 0
    }

    /// Copies the next bytes of the body.
    ///
    /// - Returns: how many; 0 at the end.
    fileprivate func read(into buffer: UnsafeMutableRawPointer, most: Int) -> Int {
        let from = bytesRead
        let length = min(most, request.body.count - from)
        guard length > 0 else { return 0 }
        if from == 0, let connection {
            connection.recordRead(self)
            readGeneration = connection.generation
            resetStream()
        }
        request.body.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { buffer.copyMemory(from: start + from, byteCount: length) }
        }
        bytesRead = from + length
        return length
    }

    /// Appends received bytes to the answer. libcurl ends the transfer unless all of them are accepted.
    fileprivate func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        chttp2_delivered(stream, bytes.count)
        let kept = min(bytes.count, maximumBodyBytes - answer.count)
        let heldBefore = answer.heldBytes
        answer.appendPart(UnsafeRawBufferPointer(rebasing: bytes[..<kept]))
        connection?.heldBytes += answer.heldBytes - heldBefore
        overflowed = kept < bytes.count
        return kept
    }
}

/// Opens a socket for a transfer; refuses it if libcurl may not send the request again. Otherwise, when a connection
/// with a hundred requests ends, each of them would open a connection and close it again.
private let transferOpenSocket: ccurl_open_callback = { context, _, address in
    guard let address, let transfer: Transfer = Curl.owner(of: context) else { return -1 }
    return transfer.mayStartOver() ? ccurl_open_socket(address) : -1
}

private let transferRead: ccurl_transfer_callback = { buffer, size, count, context in
    guard let buffer, let transfer: Transfer = Curl.owner(of: context) else { return 0 }
    return transfer.read(into: buffer, most: size * count)
}

private let transferSeek: ccurl_seek_callback = { context, _, _ in
    guard let transfer: Transfer = Curl.owner(of: context) else { return CURL_SEEKFUNC_FAIL }
    return transfer.mayStartOver() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

private let transferWrite: ccurl_transfer_callback = { buffer, size, count, context in
    guard let buffer, let transfer: Transfer = Curl.owner(of: context) else { return 0 }
    return transfer.append(UnsafeRawBufferPointer(start: buffer, count: size * count))
}
