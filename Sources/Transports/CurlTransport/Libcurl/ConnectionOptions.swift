internal import CCurl
internal import FanfareModel
internal import HTTPLanes

/// The options of every handle.
enum ConnectionOptions {
    static func apply(_ configuration: OriginConfiguration, trust: TrustStore, to easy: UnsafeMutableRawPointer) {
        // Several connections live on one thread; no option below may fall back on signals.
        Curl.set(easy, CURLOPT_NOSIGNAL, 1)

        // The address is the caller's, letter by letter: no redirect, no other scheme, no tidying of the path.
        Curl.set(easy, CURLOPT_PROTOCOLS_STR, configuration.allowsPlainHTTP ? "https,http" : "https")
        Curl.set(easy, CURLOPT_FOLLOWLOCATION, 0)
        Curl.set(easy, CURLOPT_PATH_AS_IS, 1)
        // An empty string, unlike none, switches the environment's proxy variables off.
        Curl.set(easy, CURLOPT_PROXY, configuration.proxy?.address ?? "")
        Curl.set(easy, CURLOPT_NOPROXY, "")
        if let proxy = configuration.proxy, !proxy.user.isEmpty {
            Curl.set(easy, CURLOPT_PROXYUSERNAME, proxy.user)
            Curl.set(easy, CURLOPT_PROXYPASSWORD, proxy.password)
        }

        Curl.set(easy, CURLOPT_SSL_VERIFYPEER, 1)
        Curl.set(easy, CURLOPT_SSL_VERIFYHOST, 2)
        Curl.set(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        trust.apply(to: easy)

        Curl.set(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Wait for the lane's connection rather than open one's own.
        Curl.set(easy, CURLOPT_PIPEWAIT, 1)

        // Both are allocated and freed for every request. The defaults cost more in page faults than the requests do.
        Curl.set(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16_384)
        // The longest header block: libcurl 7.88 delivers no body after one that exceeds its buffer.
        Curl.set(easy, CURLOPT_BUFFERSIZE, 16_384)

        // Deadlines of requests are the pool's; libcurl's would fire while its own queue holds the request back.
        Curl.set(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, configuration.connectTimeoutMs)))
        Curl.set(easy, CURLOPT_MAXLIFETIME_CONN, Int(max(1, configuration.maximumConnectionAgeMs / 1_000)))
        // An idle lane detects a dead route before its next request.
        Curl.set(easy, CURLOPT_TCP_KEEPALIVE, 1)
        Curl.set(easy, CURLOPT_TCP_KEEPIDLE, 30)
        Curl.set(easy, CURLOPT_TCP_KEEPINTVL, 10)
        // A name look-up in progress is left to its thread, or removing its transfer would hold the loop.
        Curl.set(easy, CURLOPT_QUICK_EXIT, 1)
    }
}
