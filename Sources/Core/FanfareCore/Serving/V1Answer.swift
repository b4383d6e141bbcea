internal import FanfareJSON
internal import FanfareModel

/// The answers of HTTP v1 to a send, in the form that FCM's clients read (`gateway-facts.md` 3).
///
/// A success is a 200 with `name`: Node counts no other status, and Python needs the name. Every answer that belongs to a
/// job has `X-Fanfare-Job`. The gateway's own refusals are ``GatewayError``.
public enum V1Answer {
    /// The answer for the one recipient of a request.
    ///
    /// A result that is not FCM's decision has the header `X-Fanfare-Status`:
    ///
    /// - `unknown`: 504 `DEADLINE_EXCEEDED`, which no SDK repeats. A repetition may be a second copy.
    /// - `expired`: the same code, in its own meaning: the message's time was over before FCM accepted it.
    /// - `cancelled`: 499 `CANCELLED`, Google's status for that code. No client repeats a 499. After a 5xx, some clients
    ///   would push again what an operator has just stopped.
    public static func result(_ result: ServedResult, project: String, job: String) -> ServedAnswer {
        switch result.status {
        case .sent:
            guard let id = result.messageID, !id.isEmpty else { return deferred(project: project, job: job) }
            // The other protocols have bare ids.
            return named(id.hasPrefix("projects/") ? id : "projects/\(project)/messages/\(id)", job)
        case .failed: return failed(result, job)
        case .unknown:
            let message = "FCM did not answer: the message may have been sent. It is not sent again."
            return ended(result.status, GoogleError(.deadlineExceeded, message), job)
        case .expired:
            let message = "The message expired before FCM accepted it."
            return ended(result.status, GoogleError(.deadlineExceeded, message), job)
        case .cancelled:
            return ended(result.status, GoogleError(.cancelled, "The job was cancelled."), job)
        }
    }

    /// The answer when the result did not come in time, or FCM's id was lost: a success with a name that leads to the job.
    /// Applications split a name at its slashes, so it has the form of FCM's (`gateway-facts.md` 8.17).
    public static func deferred(project: String, job: String) -> ServedAnswer {
        named("projects/\(project)/messages/fanfare:\(job)", job)
    }

    /// The answer when Redis did not say whether it took the job: 504, which no SDK repeats.
    public static func unconfirmed(job: String) -> ServedAnswer {
        let message =
            "Redis did not say whether it took the job: it may be sent. Look for the job before you send again."
        return ended(.unknown, GoogleError(.deadlineExceeded, message), job)
    }

    /// The answer for a job that a worker rejected.
    ///
    /// - Parameter problem: `path: rule`.
    public static func rejected(_ problem: String, job: String) -> ServedAnswer {
        fault(V1Fault(problem: problem), job: job)
    }

    /// 400 `INVALID_ARGUMENT`, with the place and the rule as a field violation.
    ///
    /// - Parameter job: nil for a request that became no job.
    public static func fault(_ fault: V1Fault, job: String? = nil) -> ServedAnswer {
        var error = GoogleError(.invalidArgument, fault.message)
        if !fault.isOfShape { error.fcmCode = ErrorCode.invalidArgument.rawValue }
        error.violations = [(fault.path, fault.rule)]
        return error.answer(headers: job.map { [.job($0)] } ?? [])
    }

    private static func named(_ name: String, _ job: String) -> ServedAnswer {
        .json(["name": .string(name)], headers: [.job(job)])
    }

    private static func ended(_ status: ResultStatus, _ error: GoogleError, _ job: String) -> ServedAnswer {
        error.answer(headers: [.job(job), ServedAnswer.Header("X-Fanfare-Status", status.rawValue)])
    }

    /// The answer for a recipient that FCM refused.
    private static func failed(_ result: ServedResult, _ job: String) -> ServedAnswer {
        let code = result.errorCode
        let row = V1ErrorRow(code)
        var error = GoogleError(row.code, row.message)
        (error.fcmCode, error.reason) = (row.fcmCode, row.reason)
        guard code == .invalidArgument else { return error.answer(headers: [.job(job)]) }
        if result.isBadToken {
            error.message = V1Fault.badTokenMessage
            error.violations = [("message.\(result.kind.rawValue)", "Invalid registration token")]
        } else {
            error.violations = result.violatedFields.map { ($0, row.message) }
        }
        return error.answer(headers: [.job(job)])
    }
}

extension ServedAnswer.Header {
    /// The job of the answer.
    static func job(_ id: String) -> ServedAnswer.Header { ServedAnswer.Header("X-Fanfare-Job", id) }
}

extension ServedResult {
    /// The error of a failed result; `unspecified` for one that only workers of a later version know.
    var errorCode: ErrorCode { error.flatMap(ErrorCode.init(rawValue:)) ?? .unspecified }

    /// Whether an `INVALID_ARGUMENT` is about the token: the worker has read that from whatever protocol it sent with.
    var isBadToken: Bool {
        (kind == .token || kind == .fid) && errorCode == .invalidArgument && action == RemedyAction.remove.rawValue
    }

    /// The fields of the request that FCM named in an `INVALID_ARGUMENT`, by `raw_error`, such as
    /// `INVALID_ARGUMENT: message.android.ttl, message.apns`.
    fileprivate var violatedFields: [String] {
        guard let rawError, let colon = rawError.firstRange(of: ": ") else { return [] }
        let fields = rawError[colon.upperBound...].split(separator: ", ").map(String.init)
        // Apple's reasons stand at the same place.
        return fields.filter { $0 == "message" || $0.hasPrefix("message.") }
    }
}
