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
    private var watches: [(fd: Int32, id: RegistrationID)] = []
    private var timer: TimerID?
    private var hasEnded = false
    private var isClosed = false

    // Written by callbacks.
    fileprivate var wishes: [(fd: Int32, what: Int32)] = []
    fileprivate var timeoutWish: Int?

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
        let code = ccurl_multi_set_callbacks(multi, connectSocket, connectTimer, context)
        precondition(code == CURLM_OK, "libcurl refused a connection's options")
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
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
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
        for watch in watches { loop.deregister(watch.id) }
        watches = []
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Carries out what libcurl asked for, after it has returned.
    private func settle() {
        for wish in wishes { watch(wish.fd, wish.what) }
        wishes.removeAll(keepingCapacity: true)
        guard let wish = timeoutWish else { return }
        timeoutWish = nil
        if let timer { loop.cancel(timer) }
        timer = nil
        guard wish >= 0 else { return }
        timer = loop.schedule(afterMilliseconds: Int64(min(wish, 3_600_000))) { [unowned self] in
            timer = nil
            act(-1, 0)
        }
    }

    private func watch(_ fd: Int32, _ what: Int32) {
        let index = watches.firstIndex { $0.fd == fd }
        if what == CURL_POLL_REMOVE {
            if let index { loop.deregister(watches.remove(at: index).id) }
            return
        }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if let index { return loop.update(watches[index].id, interest: interest) }
        // Closed again within one call, or out of watches: libcurl's own timeout ends the attempt.
        guard
            let id = try? loop.register(
                fd: fd,
                interest: interest,
                handler: { [unowned self] readiness in
                    var mask: Int32 = 0
                    if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
                    if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
                    if readiness.contains(.failed) { mask |= CURL_CSELECT_ERR }
                    act(fd, mask)
                }
            )
        else { return }
        watches.append((fd, id))
    }

    fileprivate func recordOpened(_ fd: Int32) { _ = ccurl_set_user_timeout(fd, userTimeoutMs) }
}

private func connectSocket(
    _ easy: UnsafeMutableRawPointer?,
    _ fd: curl_socket_t,
    _ what: Int32,
    _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<TLSConnect>.fromOpaque(context).takeUnretainedValue().wishes.append((fd, what))
    return 0
}

private func connectTimer(
    _ multi: UnsafeMutableRawPointer?,
    _ milliseconds: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<TLSConnect>.fromOpaque(context).takeUnretainedValue().timeoutWish = milliseconds
    return 0
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
