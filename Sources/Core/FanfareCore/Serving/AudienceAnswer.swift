internal import FanfareJSON
public import FanfareModel

/// `/v1/projects/{project}/audiences/{name}`: an audience that jobs name by its key.
public struct AudiencePath: Equatable, Sendable {
    public let project: String
    public let name: String

    /// A name may not begin with a dot: drafts do.
    public static let namePattern = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}"

    /// - Parameter parts: of the path, decoded; nil for any other path.
    public init?(_ parts: [String]?) {
        guard let parts, parts.count == 5, parts[0] == "v1", parts[1] == "projects", parts[3] == "audiences" else {
            return nil
        }
        (project, name) = (parts[2], parts[4])
    }

    /// Whether the name matches ``namePattern``.
    public var isNameValid: Bool {
        (1...128).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
    }

    /// The list of Redis.
    public var key: String { "audience:{\(project)}:gateway:\(name)" }

    /// The list of an audience that is being written.
    public func draft(_ id: String) -> String { "audience:{\(project)}:gateway:.\(name).\(id)" }
}

/// The answers for audiences. Errors are of RFC 9457.
public enum AudienceAnswer {
    /// How long an audience is kept unless `?expires=` says otherwise, seconds.
    public static let usualExpiry: Int64 = 7 * 86_400
    public static let expiries: ClosedRange<Int64> = 60...2_592_000

    /// - Parameter isNew: whether there was no audience of this name.
    public static func stored(
        _ path: AudiencePath,
        _ format: AudienceFormat,
        count: Int,
        expirySeconds: Int64,
        isNew: Bool
    ) -> ServedAnswer {
        let object: JSONObject = [
            "audience": .string(path.key), "audience_format": .string(format.rawValue),
            "count": .number(JSONNumber(Int64(count))), "expires_in": .number(JSONNumber(expirySeconds)),
        ]
        return .json(object, status: isNew ? 201 : 200)
    }

    /// - Parameter existed: whether there was an audience of this name.
    public static func deleted(existed: Bool) -> ServedAnswer {
        existed ? ServedAnswer(status: 204, type: nil) : problem(404, "There is no audience of this name.")
    }

    /// A line that breaks a rule; the audience does not exist, or is the one of before.
    public static func fault(_ fault: AudienceReader.Fault) -> ServedAnswer {
        let error: JSONObject = ["line": .number(JSONNumber(Int64(fault.line))), "detail": .string(fault.rule)]
        return problem(422, "line \(fault.line): \(fault.rule)", ["errors": .array([.object(error)])])
    }

    public static func refusal(_ refusal: GatewayError) -> ServedAnswer {
        let answer = refusal.v1Answer
        return problem(answer.status, refusal.error.message, headers: answer.headers)
    }

    public static let wrongName = problem(
        422,
        "The name of an audience must match \(AudiencePath.namePattern)."
    )
    public static let wrongExpiry = problem(
        422,
        "expires must be seconds, \(expiries.lowerBound) to \(expiries.upperBound)."
    )
    public static let wrongType = problem(
        415,
        "An audience is NDJSON (application/x-ndjson) or CSV (text/csv), as it is or with gzip."
    )

    private static func problem(
        _ status: Int,
        _ detail: String,
        _ members: JSONObject = JSONObject(),
        headers: [ServedAnswer.Header] = []
    ) -> ServedAnswer {
        let titles = [
            400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
            413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content",
            429: "Too Many Requests", 503: "Service Unavailable",
        ]
        var object = members
        object["title"] = .string(titles[status] ?? "Error")
        object["status"] = .number(JSONNumber(Int64(status)))
        object["detail"] = .string(detail)
        let body = JSONValue.object(object).jsonBytes
        return ServedAnswer(status: status, type: "application/problem+json", body: body, headers: headers)
    }
}
