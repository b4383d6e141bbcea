import FanfareJSON

/// An error of HTTP v1: its envelope, with the details of the live service.
struct APIError: Error, Equatable, Sendable {
    struct Violation: Equatable, Sendable {
        var field: String
        var description: String
    }

    struct Info: Equatable, Sendable {
        var reason: String
        var domain = "googleapis.com"
        var metadata: [String: String] = [:]
    }

    struct Apple: Equatable, Sendable {
        var statusCode: Int64
        var reason: String
    }

    var code: Int
    var status: String
    var message: String
    /// The `errorCode` of an FcmError; nil for an error without one.
    var fcmError: String?
    var violations: [Violation] = []
    var info: Info?
    var apple: Apple?
    var quotaFailure: Violation?
    var hasEmptyHelp = false

    /// The name under which the statistics count it.
    var statisticsKey: String { fcmError ?? info?.reason ?? status }

    var reply: SimulatorReply {
        var details: [JSONValue] = []
        if let fcmError {
            details.append(detail("google.firebase.fcm.v1.FcmError", ["errorCode": .string(fcmError)]))
        }
        if let apple {
            details.append(
                detail(
                    "google.firebase.fcm.v1.ApnsError",
                    ["statusCode": .number(JSONNumber(apple.statusCode)), "reason": .string(apple.reason)]
                )
            )
        }
        if !violations.isEmpty {
            let list = violations.map { pair("field", $0.field, $0.description) }
            details.append(detail("google.rpc.BadRequest", ["fieldViolations": .array(list)]))
        }
        if let quotaFailure {
            let list = [pair("subject", quotaFailure.field, quotaFailure.description)]
            details.append(detail("google.rpc.QuotaFailure", ["violations": .array(list)]))
        }
        if let info {
            let metadata = info.metadata.sorted { $0.key < $1.key }
                .map { JSONObject.Member(key: $0.key, value: .string($0.value)) }
            details.append(
                detail(
                    "google.rpc.ErrorInfo",
                    [
                        "reason": .string(info.reason), "domain": .string(info.domain),
                        "metadata": .object(JSONObject(metadata)),
                    ]
                )
            )
        }
        if hasEmptyHelp { details.append(detail("google.rpc.Help", ["links": .array([])])) }
        var error: JSONObject = [
            "code": .number(JSONNumber(Int64(code))), "message": .string(message), "status": .string(status),
        ]
        if !details.isEmpty { error["details"] = .array(details) }
        let reply = SimulatorReply(status: code, json: JSONValue.object(["error": .object(error)]).jsonBytes)
        return code == 401
            ? reply.adding("www-authenticate", "Bearer realm=\"https://accounts.google.com/\"") : reply
    }

    private func detail(_ type: String, _ fields: JSONObject) -> JSONValue {
        var members = [JSONObject.Member(key: "@type", value: .string("type.googleapis.com/" + type))]
        members += fields.members
        return .object(JSONObject(members))
    }

    private func pair(_ name: String, _ value: String, _ description: String) -> JSONValue {
        .object([name: .string(value), "description": .string(description)])
    }
}
