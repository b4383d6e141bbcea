/// The library that carries a project's HTTP requests to FCM and to Instance ID. Access tokens, telemetry and the doctor's
/// probes always go over libcurl.
public enum HTTPEngine: String, CaseIterable, Sendable {
    /// libcurl: HTTP/2 or HTTP/1.1, through a proxy if one is configured.
    case curl
    /// nghttp2: HTTP/2 only, and no proxy.
    case nghttp2
}
