internal import CNGHTTP2

/// The nghttp2 that this process uses.
public enum NGHTTP2Library {
    /// Such as `nghttp2/1.52.0`.
    public static var version: String {
        guard let info = nghttp2_version(0)?.pointee else { return "nghttp2/unknown" }
        return "nghttp2/\(String(cString: info.version_str))"
    }
}
