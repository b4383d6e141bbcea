internal import CCurl

/// Abilities of the libcurl that this process uses.
public struct CurlLibrary: Equatable, Sendable {
    public var version: String
    /// Such as `OpenSSL/3.0.15`.
    public var tls: String
    public var hasHTTP2: Bool
    /// libcurl resolves names on threads; otherwise a slow name server would block the loop.
    public var looksUpNamesAside: Bool

    public static var current: CurlLibrary {
        guard let info = curl_version_info(CURLVERSION_FIRST)?.pointee else {
            return CurlLibrary(version: "unknown", tls: "none", hasHTTP2: false, looksUpNamesAside: false)
        }
        func has(_ bit: Int32) -> Bool { info.features & bit != 0 }
        return CurlLibrary(
            version: String(cString: info.version),
            tls: info.ssl_version.map { String(cString: $0) } ?? "none",
            hasHTTP2: has(CURL_VERSION_HTTP2),
            looksUpNamesAside: has(CURL_VERSION_ASYNCHDNS)
        )
    }
}
