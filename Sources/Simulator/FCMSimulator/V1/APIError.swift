import FanfareJSON

/// An error of HTTP v1: its envelope, with the details of the live service.
struct APIError: Error, Equatable, Sendable {
    enum Status: String, Equatable, Sendable {
        case invalidArgument = "INVALID_ARGUMENT"
        case failedPrecondition = "FAILED_PRECONDITION"
        case unauthenticated = "UNAUTHENTICATED"
        case permissionDenied = "PERMISSION_DENIED"
        case notFound = "NOT_FOUND"
        case alreadyExists = "ALREADY_EXISTS"
        case resourceExhausted = "RESOURCE_EXHAUSTED"
        case `internal` = "INTERNAL"
        case unavailable = "UNAVAILABLE"

        /// The status of HTTP.
        var code: Int {
            switch self {
            case .invalidArgument, .failedPrecondition: return 400
            case .unauthenticated: return 401
            case .permissionDenied: return 403
            case .notFound: return 404
            case .alreadyExists: return 409
            case .resourceExhausted: return 429
            case .internal: return 500
            case .unavailable: return 503
            }
        }
    }

    struct Violation: Equatable, Sendable {
        var field: String
        var description: String
    }

    struct Info: Equatable, Sendable {
        var reason: String
        var domain = "googleapis.com"
        var metadata: [String: String] = ["service": "fcm.googleapis.com"]
    }

    struct Apple: Equatable, Sendable {
        var statusCode: Int
        var reason: String
    }

    var status: Status
    var message: String
    /// The `errorCode` of an FcmError; nil for an error without one.
    var fcmError: String?
    var violations: [Violation] = []
    var info: Info?
    var apple: Apple?
    var quotaFailure: Violation?
    var hasEmptyHelp = false

    init(_ status: Status, _ message: String, fcmError: String? = nil, apple: Apple? = nil, info: Info? = nil) {
        self.status = status
        self.message = message
        self.fcmError = fcmError
        self.apple = apple
        self.info = info
    }

    /// The name under which the statistics count it.
    var statisticsKey: String { fcmError ?? info?.reason ?? status.rawValue }

    var reply: SimulatorReply {
        var error: JSONObject = [
            "code": .integer(status.code), "message": .string(message), "status": .string(status.rawValue),
        ]
        let details = details
        if !details.isEmpty { error["details"] = .array(details) }
        let reply = SimulatorReply(status: status.code, object: ["error": .object(error)])
        return status == .unauthenticated
            ? reply.adding("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"") : reply
    }

    private var details: [JSONValue] {
        var details: [JSONValue] = []
        func add(_ type: String, _ fields: JSONObject) {
            let type = JSONObject.Member(key: "@type", value: .string("type.googleapis.com/google." + type))
            details.append(.object(JSONObject([type] + fields.members)))
        }
        if let fcmError { add("firebase.fcm.v1.FcmError", ["errorCode": .string(fcmError)]) }
        if let apple {
            let fields: JSONObject = ["statusCode": .integer(apple.statusCode), "reason": .string(apple.reason)]
            add("firebase.fcm.v1.ApnsError", fields)
        }
        if !violations.isEmpty {
            add("rpc.BadRequest", ["fieldViolations": .array(violations.map { Self.json($0, named: "field") })])
        }
        if let quotaFailure {
            add("rpc.QuotaFailure", ["violations": .array([Self.json(quotaFailure, named: "subject")])])
        }
        if let info {
            let metadata = info.metadata.sorted { $0.key < $1.key }
                .map { JSONObject.Member(key: $0.key, value: .string($0.value)) }
            add(
                "rpc.ErrorInfo",
                [
                    "reason": .string(info.reason), "domain": .string(info.domain),
                    "metadata": .object(JSONObject(metadata)),
                ]
            )
        }
        if hasEmptyHelp { add("rpc.Help", ["links": .array([])]) }
        return details
    }

    private static func json(_ violation: Violation, named name: String) -> JSONValue {
        .object([name: .string(violation.field), "description": .string(violation.description)])
    }
}
