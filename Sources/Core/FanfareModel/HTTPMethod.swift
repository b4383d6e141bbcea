/// Methods of the requests to FCM.
public enum HTTPMethod: String, Equatable, Sendable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
}
