internal import CCurl
internal import CHTTP2Observer
internal import Glibc

/// Sets the process up for libcurl.
public enum CurlEnvironment {
    /// Call once at the start of the process, before any thread is made: it changes the environment, which no other
    /// thread may read meanwhile.
    ///
    /// It sets libcurl up, removes `SSLKEYLOGFILE` (libcurl would write the keys of every connection to that file) and
    /// ignores SIGPIPE, so that a peer's reset is an error code and not the end of the process.
    public static func prepare() {
        unsetenv("SSLKEYLOGFILE")
        signal(SIGPIPE, SIG_IGN)
        let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        precondition(code == CURLE_OK, "libcurl cannot be set up: code \(code.rawValue)")
    }

    /// The versions of libcurl and of the libraries under it, for diagnostics.
    public static var version: String { String(cString: curl_version()) }

    /// Whether `CHTTP2Observer` sees refused streams; false before the first HTTP/2 connection. If it is false after
    /// one, libcurl carries its own nghttp2, and every refused request counts as possibly processed.
    static var seesRefusedStreams: Bool { chttp2_is_attached() }
}
