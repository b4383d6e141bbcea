internal import FanfareJSON

/// The canonical codes of Google's APIs with which the gateway answers.
///
/// Each is in the enumeration of Java's SDK, which throws on any other name (`gateway-facts.md` 3): no `UNIMPLEMENTED`,
/// and no code of FCM such as `UNREGISTERED`.
enum CanonicalCode: String, CaseIterable {
    case invalidArgument = "INVALID_ARGUMENT"
    case failedPrecondition = "FAILED_PRECONDITION"
    case unauthenticated = "UNAUTHENTICATED"
    case permissionDenied = "PERMISSION_DENIED"
    case notFound = "NOT_FOUND"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case cancelled = "CANCELLED"
    case internalError = "INTERNAL"
    case unknown = "UNKNOWN"
    case unavailable = "UNAVAILABLE"
    case deadlineExceeded = "DEADLINE_EXCEEDED"

    /// The status of HTTP that Google gives the code (`google/rpc/code.proto`).
    var httpStatus: Int {
        switch self {
        case .invalidArgument, .failedPrecondition: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .resourceExhausted: 429
        case .cancelled: 499
        case .internalError, .unknown: 500
        case .unavailable: 503
        case .deadlineExceeded: 504
        }
    }
}

/// An error in the form of Google's APIs: `{"error":{"code","message","status","details":[…]}}`.
///
/// Without details the member is left out, as Google does.
struct GoogleError {
    var code: CanonicalCode
    var message: String
    /// The status of HTTP, where it is not the code's own.
    var httpStatus: Int?
    /// The `errorCode` of `FcmError`. That detail stands first: pigeon reads the first one that has an `errorCode`.
    var fcmCode: String?
    /// The `fieldViolations` of `BadRequest`.
    var violations: [(field: String, rule: String)] = []
    /// The reason of `ErrorInfo`.
    var reason: String?

    init(_ code: CanonicalCode, _ message: String) { (self.code, self.message) = (code, message) }

    func answer(headers: [ServedAnswer.Header] = []) -> ServedAnswer {
        let status = httpStatus ?? code.httpStatus
        var error: JSONObject = [
            "code": .number(JSONNumber(Int64(status))), "message": .string(message), "status": .string(code.rawValue),
        ]
        let details = details
        if !details.isEmpty { error["details"] = .array(details) }
        return .json(["error": .object(error)], status: status, headers: challenge + headers)
    }

    /// The challenge of a 401. Java's SDK repeats a 401 without one. With `invalid_token` every library of Google gets a
    /// new access token first, so it stands only where that helps (`gateway-facts.md` 2).
    var challenge: [ServedAnswer.Header] {
        guard code == .unauthenticated else { return [] }
        let hint = reason == Self.expiredToken ? #", error="invalid_token""# : ""
        return [ServedAnswer.Header("WWW-Authenticate", #"Bearer realm="fanfare""# + hint)]
    }

    /// The reason of a 401 that a new access token cures.
    static let expiredToken = "ACCESS_TOKEN_EXPIRED"

    private var details: [JSONValue] {
        var details: [JSONValue] = []
        func add(_ type: String, _ fields: JSONObject) {
            let type = JSONObject.Member(key: "@type", value: .string("type.googleapis.com/google.\(type)"))
            details.append(.object(JSONObject([type] + fields.members)))
        }
        if let fcmCode { add("firebase.fcm.v1.FcmError", ["errorCode": .string(fcmCode)]) }
        if !violations.isEmpty {
            let list = violations.map { violation -> JSONValue in
                ["field": .string(violation.field), "description": .string(violation.rule)]
            }
            add("rpc.BadRequest", ["fieldViolations": .array(list)])
        }
        if let reason { add("rpc.ErrorInfo", ["reason": .string(reason), "domain": "googleapis.com"]) }
        return details
    }
}
