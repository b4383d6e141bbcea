/// How the gateway answered a request, as metrics count it. It is read from the answer, which alone is the same for every API.
public enum AnswerOutcome: Equatable, Sendable {
    /// The request became a job, and has its results.
    case inTime
    /// The request became a job, and a result or FCM's id is not in the answer.
    case deferred
    /// The request became a job, and did not ask for results.
    case pushed
    /// The request became a job, and FCM or Redis gave no answer.
    case unknown
    /// The gateway itself refused the request.
    case refused(Reason)
    /// The answer to a request that pushes nothing, such as a read.
    case other

    public enum Reason: String, CaseIterable, Sendable {
        /// The request breaks a rule.
        case request
        /// No key, or none of the gateway's.
        case key
        /// The key may not do this, or not with this project.
        case permission
        case notFound = "not_found"
        /// The key's rate, or too many wrong keys from one address.
        case rate
        /// Redis is away, or too many requests wait.
        case unavailable
    }

    /// Begins the id of each message without one of FCM's; see ``V1Answer/deferred(project:job:)``.
    private static let deferredID = Array("fanfare:".utf8)

    /// - Parameters:
    ///   - isOfJob: whether the answer has `X-Fanfare-Job`, which no refusal of the gateway has.
    ///   - fanfareStatus: the value of `X-Fanfare-Status`.
    public init(status: Int, isOfJob: Bool, fanfareStatus: String?, body: [UInt8]) {
        if isOfJob {
            if fanfareStatus == "unknown" { self = .unknown; return }
            if status == 202 { self = .pushed; return }
            self = status == 200 && Self.names(body) ? .deferred : .inTime
            return
        }
        switch status {
        case ..<400: self = .other
        case 401: self = .refused(.key)
        case 403: self = .refused(.permission)
        case 404: self = .refused(.notFound)
        case 429: self = .refused(.rate)
        case 500...: self = .refused(.unavailable)
        default: self = .refused(.request)
        }
    }

    /// Whether a body names a message without an id of FCM's.
    private static func names(_ body: [UInt8]) -> Bool {
        let last = body.count - deferredID.count
        guard last >= 0 else { return false }
        var start = 0
        while start <= last {
            if body[start] == deferredID[0], body[start..<(start + deferredID.count)].elementsEqual(deferredID) {
                return true
            }
            start += 1
        }
        return false
    }
}
