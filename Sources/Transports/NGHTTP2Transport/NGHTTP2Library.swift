internal import CNGHTTP2

/// The nghttp2 that this process uses.
public enum NGHTTP2Library {
    /// Such as `1.52.0`.
    public static var version: String {
        guard let info = nghttp2_version(0)?.pointee else { return "unknown" }
        return String(cString: info.version_str)
    }
}
