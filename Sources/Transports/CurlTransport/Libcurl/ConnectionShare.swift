internal import CCurl

/// Addresses and TLS sessions that the lanes of one origin share, so that a new lane resumes a session.
/// Connections are not shared; a lane is its own failure domain. No lock functions: all lanes run on one thread.
final class ConnectionShare {
    private(set) var handle: UnsafeMutableRawPointer?

    init() {
        handle = curl_share_init()
        guard let handle else { return }
        for data in [CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
            let code = ccurl_share_set(handle, CURLSHOPT_SHARE, Int(data.rawValue))
            assert(code == CURLSHE_OK)
        }
    }

    deinit { assert(handle == nil, "closed on the loop first") }

    /// After every handle that uses it is gone.
    func close() {
        if let handle { curl_share_cleanup(handle) }
        handle = nil
    }
}
