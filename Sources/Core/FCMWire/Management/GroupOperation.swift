internal import FanfareJSON
public import FanfareModel

/// Creates, changes and reads device groups.
///
/// Keys are opaque and must not be compared: every answer may name the same group by another valid key.
public enum GroupOperation {
    /// The most members that a group has.
    public static let maximumMembers = 20

    private static let path = "/fcm/notification"

    /// - Parameters:
    ///   - op: one of the group operations.
    ///   - key: the group's `notification_key`; not used by create and get.
    ///   - tokens: the members; not used by get.
    public static func request(_ op: Operation, name: String, key: String, tokens: [String]) -> WireRequest {
        guard let word = words[op] else {
            return WireRequest(
                method: .get,
                path: "\(path)?notification_key_name=\(name.percentEncoded)",
                headers: .management
            )
        }
        var body: JSONObject = ["operation": .string(word), "notification_key_name": .string(name)]
        if op != .groupCreate { body["notification_key"] = .string(key) }
        body["registration_ids"] = .array(tokens.map { .string($0) })
        return WireRequest(method: .post, path: path, headers: .management, body: JSONValue.object(body).jsonBytes)
    }

    /// `managed` with the key that came back. A 200 that lost its body was carried out too: its key is that of the
    /// request, empty for create; a get is retried.
    ///
    /// - Parameters:
    ///   - key: the `notification_key` of the request, empty where it had none.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - canRefresh: false for a server key, which cannot be renewed.
    public static func verdict(
        _ outcome: RequestOutcome,
        op: Operation,
        key: String,
        nowMs: Int64,
        canRefresh: Bool = true
    ) -> Verdict {
        let shared = ManagementVerdicts(family: .deviceGroup, canRefresh: canRefresh)
        guard case .answered(let answer) = outcome else { return shared.withoutAnswer(outcome) }
        guard answer.status == 200 else { return shared.wholeRequest(answer, nowMs: nowMs) }
        switch AnswerBody(answer) {
        case .foreign:
            return shared.unclear("not FCM's answer", httpStatus: answer.status)
        case .lost:
            if op == .groupGet { return shared.unclear("the key was lost", httpStatus: answer.status) }
            return .managed(group: key)
        case .json(let value):
            if let returned = value.object?["notification_key"]?.string, isKey(returned) {
                return .managed(group: returned)
            }
            guard let error = value.object?["error"]?.string else {
                return shared.unclear("no notification_key", httpStatus: answer.status)
            }
            let row = CodeTable.row(.deviceGroup, error) ?? CodeTable.unknown(.deviceGroup)
            return shared.verdict(row, rawError: error, httpStatus: answer.status)
        }
    }

    /// The verdict after an earlier attempt with an unknown outcome, which may be the cause of this error.
    ///
    /// - Create fails because the group exists: it may be the earlier attempt's or an older one, so the outcome is
    ///   unknown.
    /// - Remove fails because the group is gone: it has none of the members, so the operation succeeded.
    public static func afterDoubt(_ verdict: Verdict, op: Operation, key: String) -> Verdict {
        guard case .failed(let failure) = verdict else { return verdict }
        switch (op, failure.rawError) {
        case (.groupCreate, "notification_key already exists"): return .unknown(failure, retryAfterMs: nil)
        case (.groupRemove, "notification_key not found"): return .managed(group: key)
        default: return verdict
        }
    }

    private static let words: [Operation: String] = [
        .groupCreate: "create", .groupAdd: "add", .groupRemove: "remove",
    ]

    /// Opaque, but it goes into a result and from there into a job.
    private static func isKey(_ text: String) -> Bool {
        (1...1_024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
