internal import FanfareModel

/// Answers a legacy request from the results of its recipients.
///
/// The answer to a request with a job is a 200 or a 400: after a 5xx clients send to all tokens again, and some do so
/// after any answer with a Retry-After. A recipient without a result has a `message_id`, so that no client repeats it.
public struct LegacyAnswer: Sendable {
    private let request: LegacyRequest
    private let job: String
    private let firstIndex: Int64

    /// - Parameters:
    ///   - job: the id of the job that the request's recipients are in.
    ///   - firstIndex: the position of the first of them in the job.
    public init(to request: LegacyRequest, job: String, firstIndex: Int64 = 0) {
        (self.request, self.job, self.firstIndex) = (request, job, firstIndex)
    }

    /// - Parameter results: in the order of ``LegacyRequest/recipients``; nil or missing for each that did not come in time.
    public func answer(_ results: [ServedResult?]) -> ServedAnswer {
        let outcomes = request.slots.map { slot -> LegacyOutcome in
            switch slot {
            case .refused(let code): .error(code)
            case .recipient(let position): outcome(of: position < results.count ? results[position] : nil, at: position)
            }
        }
        let first = results.first ?? nil
        // FCM names the message to a token, and none to a group.
        let isOfGroup = request.shape == .tokenOrGroup && first?.status == .sent && Self.ownID(first) == nil
        return (isOfGroup ? .group : request.shape).answer(
            outcomes,
            number: request.shape == .broadcast ? messageNumber(first) : number,
            failedMembers: first?.failedTokens ?? []
        ).naming(job)
    }

    /// The answer to a request whose job a worker rejected: nothing was sent.
    ///
    /// - Parameter problem: the reason, as `path: rule`.
    public func rejected(_ problem: String) -> ServedAnswer {
        request.refused(problem).naming(job)
    }

    private func outcome(of result: ServedResult?, at position: Int) -> LegacyOutcome {
        if let result, let code = LegacyCode(result) { return .error(code) }
        let deferred = "fanfare:\(job):\(firstIndex + Int64(position))"
        return .accepted(id: Self.ownID(result) ?? deferred, canonical: result?.canonical)
    }

    /// FCM's own id of a topic's message if that is a number; else ``number``.
    private func messageNumber(_ result: ServedResult?) -> Int64 {
        guard let own = Self.ownID(result).flatMap({ Int64($0) }), own > 0 else { return number }
        return own
    }

    /// FCM's id without `projects/{p}/messages/`; nil if there is none.
    private static func ownID(_ result: ServedResult?) -> String? {
        let parts = result?.messageID?.split(separator: "/", omittingEmptySubsequences: false)
        guard let id = parts?.last, !id.isEmpty else { return nil }
        return String(id)
    }

    /// A number of 63 bits, never 0, that is the same each time the request is answered.
    private var number: Int64 { max(1, Int64(ByteHash.of("\(job):\(firstIndex)") >> 1)) }
}

extension LegacyRequest {
    /// The answer to a request that becomes no job.
    ///
    /// - Parameter problem: the rule of jobs that it breaks, as `path: rule`.
    public func refused(_ problem: String) -> ServedAnswer {
        LegacyFault(LegacyFault.Reason(problem: problem), shape: shape, tokens: slots.count).answer
    }
}

extension GatewayError {
    /// The answer in the form of the legacy protocol: a sentence. The reference has 401 for every key that may not send,
    /// and python-gcm repeats a 403.
    public var legacyAnswer: ServedAnswer {
        let status = error.httpStatus ?? error.code.httpStatus
        return .text(error.message + "\n", status: status == 403 ? 401 : status, headers: headers)
    }
}

extension ServedAnswer {
    fileprivate func naming(_ job: String) -> ServedAnswer {
        var answer = self
        answer.headers.append(.job(job))
        return answer
    }
}
