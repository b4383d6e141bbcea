package import FanfareJSON
internal import FanfareModel

extension TokenStory {
    /// The story as one object, for `fanfare token show --json` and the dashboard. Unknown values are left out.
    ///
    /// - Parameter showsTokens: whether canonical tokens and replacements are written in full.
    package func json(showsTokens: Bool) -> JSONObject {
        func shown(_ token: String?) -> JSONValue? {
            token.map { .string(showsTokens ? $0 : Self.masked($0)) }
        }
        func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
        func text(_ value: String?) -> JSONValue? { value.map { .string($0) } }
        let deliveries = jobs.map { delivery in
            var object: JSONObject = [
                "job": .string(delivery.job), "i": number(delivery.index),
                "status": .string(delivery.status.rawValue), "attempts": number(delivery.attempts),
                "at_ms": number(delivery.atMs), "maybe_dup": .bool(delivery.maybeDup),
            ]
            object["error"] = text(delivery.error)
            object["raw_error"] = text(delivery.rawError)
            object["action"] = text(delivery.action)
            object["message_id"] = text(delivery.messageID)
            object["canonical"] = shown(delivery.canonical)
            object["entry"] = .string(delivery.entryID)
            return JSONValue.object(object)
        }
        let advice = feedback.map { feedback in
            var object: JSONObject = [
                "action": .string(feedback.action.rawValue), "job": .string(feedback.job),
                "at_ms": number(feedback.atMs),
            ]
            object["error"] = text(feedback.error)
            object["replacement"] = shown(feedback.replacement)
            object["entry"] = .string(feedback.entryID)
            return JSONValue.object(object)
        }
        var object: JSONObject = ["project": .string(project)]
        object["kept_since_ms"] = keptSinceMs.map(number)
        object["jobs"] = .array(deliveries)
        object["feedback"] = .array(advice)
        object["whole"] = .bool(isWhole)
        object["cursor"] = text(cursor)
        object["notes"] = .array(notes.map { .string($0) })
        return object
    }
}
