internal import FanfareJSON
public import FanfareModel

/// Topic management by the Instance ID service: up to 1,000 tokens a request, each with its own result.
public enum TopicBatch {
    /// Appends the request's body. The topic is bare, without `/topics/`.
    public static func body(topic: String, tokens: some Collection<String>, into body: inout [UInt8]) {
        body.append(contentsOf: #"{"to":"#.utf8)
        body.appendJSONString("/topics/" + topic)
        body.append(contentsOf: #","registration_tokens":["#.utf8)
        var isFirst = true
        for token in tokens {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            body.appendJSONString(token)
        }
        body.append(contentsOf: "]}".utf8)
    }

    /// - Parameter op: subscribe or unsubscribe.
    public static func path(_ op: Operation) -> String {
        op == .subscribe ? "/iid/v1:batchAdd" : "/iid/v1:batchRemove"
    }

    /// One verdict for each token, in the request's order; always as many as there are tokens. Success is `sent` with
    /// an empty id. If the entries do not match the request in number, every token is retried.
    ///
    /// - Parameters:
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - canRefresh: false for a server key, which cannot be renewed.
    public static func verdicts(
        _ outcome: RequestOutcome,
        tokens: some Collection<String>,
        nowMs: Int64,
        canRefresh: Bool = true
    ) -> [Verdict] {
        let shared = ManagementVerdicts(family: .instanceID, canRefresh: canRefresh)
        let all = { (verdict: Verdict) in [Verdict](repeating: verdict, count: tokens.count) }
        guard case .answered(let answer) = outcome else { return all(shared.withoutAnswer(outcome)) }
        guard answer.status == 200 else { return all(shared.wholeRequest(answer, nowMs: nowMs)) }
        guard case .json(let value) = AnswerBody(answer), let results = value.object?["results"]?.array else {
            return all(shared.unclear("no results", httpStatus: answer.status))
        }
        guard results.count == tokens.count else {
            let reason = "\(results.count) results for \(tokens.count) tokens"
            return all(shared.unclear(reason, httpStatus: answer.status))
        }
        let advice = RetryAdvice(answer, nowMs: nowMs)
        return results.map { verdict($0, shared, answer.status, advice) }
    }

    private static func verdict(
        _ entry: JSONValue,
        _ shared: ManagementVerdicts,
        _ status: Int,
        _ advice: RetryAdvice
    ) -> Verdict {
        guard let object = entry.object else { return shared.unclear("not an object", httpStatus: status) }
        guard let error = object["error"], error != .null else { return .sent(messageID: "", canonical: nil) }
        guard let code = error.string, !code.isEmpty else {
            return shared.unclear("an error without a code", httpStatus: status)
        }
        let row = CodeTable.row(.instanceID, code) ?? CodeTable.unknown(.instanceID)
        return shared.verdict(row, rawError: code, httpStatus: status, advice)
    }
}
