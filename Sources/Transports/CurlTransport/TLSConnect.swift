internal import CCurl
internal import EventLoop
internal import Glibc

/// Opens one connection with libcurl, without blocking, and holds the handles for as long as it is used.
///
/// The handle stays in its multi after the connect: taken out, it would lose the connection (curl/curl #9244). Closing
/// the multi is what closes the socket.
final class TLSConnect {
    struct Failure: Error { var reason: String }

    let easy: UnsafeMutableRawPointer
    /// The open socket, or why there is none. Called once, from a turn of the loop.
    var onEnd: (Result<Int32, Failure>) -> Void = { _ in }

    private let multi: UnsafeMutableRawPointer
    private let loop: EventLoop
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private let userTimeoutMs: UInt32
    private let watches: MultiWatches
    private var timer: TimerID?
    private var hasEnded = false
    private var isClosed = false

    init?(loop: EventLoop, configuration: TLSStreamConfiguration, url: String) {
        guard let easy = curl_easy_init() else { return nil }
        guard let multi = curl_multi_init() else {
            curl_easy_cleanup(easy)
            return nil
        }
        self.easy = easy
        self.multi = multi
        self.loop = loop
        userTimeoutMs = configuration.userTimeoutMs
        watches = MultiWatches(loop: loop)
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        var origin = OriginConfiguration(caFile: configuration.caFile)
        origin.connectTimeoutMs = configuration.connectTimeoutMs
        ConnectionOptions.apply(origin, trust: TrustStore(privateFile: configuration.caFile), to: easy)
        Curl.set(easy, CURLOPT_URL, url)
        Curl.set(easy, CURLOPT_CONNECT_ONLY, 1)
        // The scheme is there for its TLS only: no HTTP is spoken, and none may be agreed on.
        Curl.set(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        Curl.set(easy, CURLOPT_SSL_ENABLE_ALPN, 0)
        Curl.set(easy, CURLOPT_ERRORBUFFER, pointer: errorText)
        let context = Unmanaged.passUnretained(self).toOpaque()
        Curl.set(easy, CURLOPT_SOCKOPTDATA, pointer: context)
        Curl.check(ccurl_set_sockopt(easy, connectSocketOpened), CURLOPT_SOCKOPTFUNCTION)
        let code = watches.attach(to: multi)
        precondition(code == CURLM_OK, "libcurl refused a connection's options")
        watches.onReady = { [unowned self] fd, mask in act(fd, mask) }
    }

    deinit { assert(isClosed, "closed on the loop first") }

    func start() {
        let code = curl_multi_add_handle(multi, easy)
        guard code == CURLM_OK else {
            let failure = Failure(reason: "libcurl did not take the connection: \(code.rawValue)")
            timer = loop.schedule(afterNanoseconds: 0) { [unowned self] in end(.failure(failure)) }
            return
        }
        settle()
    }

    func reason(_ code: CURLcode) -> String {
        let text = String(cString: errorText)
        // libcurl's error about an unreadable private CA contains the path, which must not be shown.
        return text.isEmpty || code == CURLE_SSL_CACERT_BADFILE ? String(cString: curl_easy_strerror(code)) : text
    }

    /// Safe to call twice.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        stopWatching()
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        errorText.deallocate()
    }

    // MARK: Connecting

    private func act(_ fd: Int32, _ mask: Int32) {
        guard !isClosed, !hasEnded else { return }
        var running: Int32 = 0
        let code = curl_multi_socket_action(multi, fd, mask, &running)
        settle()
        if code != CURLM_OK { return end(.failure(Failure(reason: "libcurl failed: \(code.rawValue)"))) }
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            return finish(message.pointee.data.result)
        }
    }

    private func finish(_ code: CURLcode) {
        guard code == CURLE_OK else { return end(.failure(Failure(reason: reason(code)))) }
        var fd: curl_socket_t = -1
        guard ccurl_get_socket(easy, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK, fd >= 0 else {
            return end(.failure(Failure(reason: "libcurl has no socket")))
        }
        end(.success(fd))
    }

    private func end(_ result: Result<Int32, Failure>) {
        guard !hasEnded else { return }
        hasEnded = true
        // The socket's next watcher is its user.
        stopWatching()
        onEnd(result)
    }

    private func stopWatching() {
        watches.stop()
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Carries out what libcurl asked for, after it has returned.
    private func settle() {
        // What cannot be watched is ended by libcurl's own timeout.
        _ = watches.settle()
        guard let wish = watches.takeTimeout() else { return }
        if let timer { loop.cancel(timer) }
        timer = nil
        guard wish >= 0 else { return }
        timer = loop.schedule(afterMilliseconds: Int64(min(wish, 3_600_000))) { [unowned self] in
            timer = nil
            act(-1, 0)
        }
    }

    fileprivate func recordOpened(_ fd: Int32) { _ = ccurl_set_user_timeout(fd, userTimeoutMs) }
}

private func connectSocketOpened(
    _ context: UnsafeMutableRawPointer?,
    _ fd: curl_socket_t,
    _ purpose: curlsocktype
) -> Int32 {
    guard let context else { return CURL_SOCKOPT_OK }
    Unmanaged<TLSConnect>.fromOpaque(context).takeUnretainedValue().recordOpened(fd)
    return CURL_SOCKOPT_OK
}
