internal import FanfareJSON
internal import FanfareModel

/// The answers of Google's management APIs, each in the form of its route (`gateway-facts.md` 1.2).
public enum ManagementAnswer {
    /// The answer to a call whose job has ended, or has not in time.
    ///
    /// A change that is not decided in time is a success: the job carries it out (contract 8). A question has no answer
    /// then; it gets 504, which no SDK repeats.
    ///
    /// - Parameters:
    ///   - results: one for each recipient of the job in its order; nil for each that did not come in time.
    ///   - project: the id, which the names of subscriptions show.
    ///   - job: nil for a call without an operation.
    public static func results(
        _ results: [ServedResult?],
        of call: ManagementCall,
        project: String,
        job: String?
    ) -> ServedAnswer {
        let headers = job.map { [ServedAnswer.Header.job($0)] } ?? []
        if case .batch = call.route {
            return .json(["results": .array(batch(results, call.isToken))], headers: headers)
        }
        let result = results.first ?? nil
        let isDone = result.map { $0.status == .sent } ?? true
        switch call.route {
        case .batch, .relation: return isDone ? .json([:], headers: headers) : failed(result, headers)
        case .info:
            guard let topics = result?.topics else { return failed(result, headers, isInfo: true) }
            let names = topics.map { JSONObject.Member(key: $0, value: [:]) }
            // No date: PHP's SDK takes none for 1970. Fanfare knows neither platform nor application.
            return .json(["scope": "*", "rel": ["topics": .object(JSONObject(names))]], headers: headers)
        case .subscriptions(_, let registration, let asked):
            let path = "projects/\(project)/registrations/\(registration)/topicSubscriptions"
            if !isDone, let result { return V1Answer.result(result, project: project, job: job ?? "") }
            switch call.operation {
            case .subscribe(_, let topic): return .json(subscription(topic, path), headers: headers)
            case .listTopics:
                guard let topics = result?.topics else { return late.answer(headers: headers) }
                if let name = asked {
                    guard topics.contains(name) else { return none.answer(headers: headers) }
                    return .json(subscription(name, path), headers: headers)
                }
                let list = topics.map { JSONValue.object(subscription($0, path)) }
                return .json(["topicSubscriptions": .array(list)], headers: headers)
            default: return .json([:], headers: headers)
            }
        case .groups: return group(result, call.operation, headers)
        }
    }

    /// The answer for a job that a worker rejected. A question about a token is answered 403: to clients a 400 there is a
    /// bad token, and the token was checked before.
    ///
    /// - Parameter problem: `path: rule`.
    public static func rejected(_ problem: String, route: ManagementRoute, job: String) -> ServedAnswer {
        switch route {
        case .subscriptions: return V1Answer.rejected(problem, job: job)
        case .info: return error(403, CanonicalCode.permissionDenied.rawValue, [.job(job), reason(problem)])
        case .groups: return error(400, problem, [.job(job)])
        case .batch, .relation:
            return error(400, CanonicalCode.invalidArgument.rawValue, [.job(job), reason(problem)])
        }
    }

    /// The answer to a request that becomes no job, by the fault that ``ManagementCall`` or `EntryCheck` found.
    public static func fault(_ fault: EntryFault, route: ManagementRoute) -> ServedAnswer {
        switch route {
        case .subscriptions: return V1Answer.fault(V1Fault(shape: fault.path, fault.rule))
        case .info where fault.path == "token": return error(400, "InvalidToken", [reason(fault.reason)])
        case .info: return error(403, CanonicalCode.permissionDenied.rawValue, [reason(fault.reason)])
        case .groups: return error(400, fault.reason)
        case .batch, .relation:
            return error(400, CanonicalCode.invalidArgument.rawValue, [reason(fault.reason)])
        }
    }

    /// Bytes of `X-Fanfare-Reason`.
    static let maximumReasonBytes = 300

    /// The rule that a request breaks, for answers whose body is a single word to clients. Any byte that is not printable
    /// ASCII becomes a question mark.
    private static func reason(_ sentence: String) -> ServedAnswer.Header {
        let bytes = sentence.utf8.prefix(maximumReasonBytes).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return ServedAnswer.Header("X-Fanfare-Reason", String(decoding: bytes, as: UTF8.self))
    }

    public static func refusal(_ refusal: GatewayError, route: ManagementRoute) -> ServedAnswer {
        if case .subscriptions = route { return refusal.v1Answer }
        let answer = refusal.v1Answer
        // Only this one is mended by who reads the words; clients know the codes of all others.
        if case .severalProjects = refusal { return error(answer.status, refusal.error.message) }
        return error(answer.status, refusal.error.code.rawValue, answer.headers)
    }

    /// One element for each token of the request, in its order: exactly `{}` or `{"error":"STRING"}`. Go's SDK panics on
    /// any other, Java's and .NET's on an empty array.
    private static func batch(_ results: [ServedResult?], _ isToken: [Bool]) -> [JSONValue] {
        var rest = results[...]
        return isToken.map { isToken in
            guard isToken else { return ["error": "INVALID_ARGUMENT"] }
            guard let result = rest.popFirst() ?? nil, result.status != .sent else { return [:] }
            return ["error": .string(word(result))]
        }
    }

    private static func subscription(_ topic: String, _ path: String) -> JSONObject {
        ["name": .string("\(path)/\(topic)"), "topicName": .string(topic)]
    }

    private static func group(
        _ result: ServedResult?,
        _ operation: ManagementOperation?,
        _ headers: [ServedAnswer.Header]
    ) -> ServedAnswer {
        if let key = result?.group, !key.isEmpty { return .json(["notification_key": .string(key)], headers: headers) }
        switch operation {
        case .add(_, _, let key) where result == nil, .remove(_, _, let key) where result == nil:
            return .json(["notification_key": .string(key)], headers: headers)
        default: break
        }
        // Google's own sentences, such as `notification_key already exists`, are `raw_error`.
        if let result, result.error == ErrorCode.invalidArgument.rawValue, let sentence = result.rawError {
            return error(400, sentence, headers)
        }
        return failed(result, headers)
    }

    /// The answer about one token or group that failed; nil for a result that did not come in time.
    private static func failed(
        _ result: ServedResult?,
        _ headers: [ServedAnswer.Header],
        isInfo: Bool = false
    ) -> ServedAnswer {
        guard let result, result.status != .sent else { return error(504, late.code.rawValue, headers) }
        let code = result.errorCode
        if isInfo, code == .unregistered { return error(404, "No information found about this instance id.", headers) }
        if isInfo, code == .invalidArgument { return error(400, "InvalidToken", headers) }
        guard result.status == .failed else {
            let status = result.status == .cancelled ? CanonicalCode.cancelled : .deadlineExceeded
            return error(status.httpStatus, status.rawValue, headers)
        }
        return error(V1ErrorRow(code).code.httpStatus, word(result), headers)
    }

    private static let none = GoogleError(.notFound, "Requested entity was not found.")
    private static let late = GoogleError(.deadlineExceeded, "The answer did not come in time.")

    private static func error(_ status: Int, _ text: String, _ headers: [ServedAnswer.Header] = []) -> ServedAnswer {
        .json(["error": .string(text)], status: status, headers: headers)
    }

    /// The word of the Instance ID API, which Node's SDK knows: the inverse of the worker's table.
    private static func word(_ result: ServedResult) -> String {
        switch result.status {
        case .cancelled: return CanonicalCode.cancelled.rawValue
        case .sent, .unknown, .expired: return CanonicalCode.deadlineExceeded.rawValue
        case .failed: return word(result.errorCode)
        }
    }

    static func word(_ error: ErrorCode) -> String {
        switch error {
        case .unregistered: "NOT_FOUND"
        case .invalidArgument, .emptyGroup: "INVALID_ARGUMENT"
        case .senderIDMismatch, .thirdPartyAuthError: "PERMISSION_DENIED"
        case .quotaExceeded: "RESOURCE_EXHAUSTED"
        case .unavailable, .transport: "DEADLINE_EXCEEDED"
        case .internalError: "INTERNAL"
        case .unspecified: "UNKNOWN"
        case .tooManyTopics: "TOO_MANY_TOPICS"
        }
    }
}
