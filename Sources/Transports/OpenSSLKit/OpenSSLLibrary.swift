internal import COpenSSL

/// OpenSSL as this process uses it.
public enum OpenSSLLibrary {
    /// Makes OpenSSL keep its memory until the process ends. Must be the process's first call into OpenSSL, and into
    /// libraries that start it, such as libcurl; later calls do nothing.
    ///
    /// Otherwise `exit` frees OpenSSL's memory, though threads may still use TLS. A thread that ends at that moment frees
    /// its part a second time, and the process dies of SIGABRT ("double free or corruption").
    public static func keepUntilExit() { _ = isKept }

    private static let isKept = copenssl_keep_until_exit() == 1
}
