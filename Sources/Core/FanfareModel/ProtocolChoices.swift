/// How a project's sends travel.
public enum Transport: String, Equatable, Sendable, CaseIterable { case v1, legacy, xmpp }

/// Form of a request of the legacy transport. Plain text carries one token, and of a message little more than data.
public enum LegacyBody: String, Equatable, Sendable, CaseIterable { case json, text }

/// Which API changes a project's topic subscriptions: Instance ID takes 1,000 tokens a request, v1 one.
public enum TopicAPI: String, Equatable, Sendable, CaseIterable { case iid, v1 }

/// The elements of an audience: bare tokens, or the recipients of a personal job as JSON objects.
public enum AudienceFormat: String, Equatable, Sendable, CaseIterable { case token, json }

/// The library that carries a project's HTTP requests to FCM and to Instance ID. Access tokens, telemetry and the doctor's
/// probes always go over libcurl.
public enum HTTPEngine: String, CaseIterable, Sendable {
    /// libcurl: HTTP/2 or HTTP/1.1, through a proxy if one is configured.
    case curl
    /// nghttp2: HTTP/2 only, and no proxy.
    case nghttp2
}

/// Methods of the requests to FCM.
public enum HTTPMethod: String, Equatable, Sendable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
}
