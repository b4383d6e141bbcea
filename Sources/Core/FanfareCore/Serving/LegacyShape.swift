internal import FCMWire
internal import FanfareJSON

/// What became of a recipient, in words of the legacy protocol.
enum LegacyOutcome: Equatable, Sendable {
    /// - Parameter canonical: the token to use from now on.
    case accepted(id: String, canonical: String?)
    case error(LegacyCode)
}

/// The form of an answer. It has the members that clients need: Ruby's fcm fails without `failure` and
/// `canonical_ids`, and node-gcm repeats a device group's message if there are `results`.
enum LegacyShape: Equatable, Sendable {
    /// JSON with the outcome of each token.
    case list
    /// As ``list``, of one token that may be a device group's key: if FCM's answer shows that it is, as ``group``.
    case tokenOrGroup
    /// JSON with one outcome, of a topic or a condition.
    case broadcast
    /// JSON with counts of a device group's members.
    case group
    /// Lines for one token: the answer to plain text.
    case text

    /// An answer of status 200. It has no Retry-After: PyFCM repeats whatever request gets one.
    ///
    /// - Parameters:
    ///   - outcomes: of each token, or the one of another recipient.
    ///   - number: the id of a multicast, or of a topic's message. go-fcm reads an integer of 64 bits.
    ///   - failedMembers: members of a group that did not get the message.
    func answer(_ outcomes: [LegacyOutcome], number: Int64, failedMembers: [String] = []) -> ServedAnswer {
        switch self {
        case .list, .tokenOrGroup: return .json(Self.list(outcomes, number: number))
        case .broadcast:
            if case .error(let code) = outcomes[0] { return .json(["error": .string(code.rawValue)]) }
            return .json(["message_id": .number(JSONNumber(number))])
        case .group: return .json(Self.group(outcomes[0], failedMembers))
        case .text: return Self.lines(outcomes[0])
        }
    }

    private static func list(_ outcomes: [LegacyOutcome], number: Int64) -> JSONObject {
        var (success, canonicals) = (0, 0)
        let results = outcomes.map { outcome -> JSONValue in
            switch outcome {
            case .error(let code): return ["error": .string(code.rawValue)]
            case .accepted(let id, let canonical):
                success += 1
                guard let canonical else { return ["message_id": .string(id)] }
                canonicals += 1
                return ["message_id": .string(id), "registration_id": .string(canonical)]
            }
        }
        return [
            "multicast_id": .number(JSONNumber(number)),
            "success": .number(JSONNumber(Int64(success))),
            "failure": .number(JSONNumber(Int64(results.count - success))),
            "canonical_ids": .number(JSONNumber(Int64(canonicals))),
            "results": .array(results),
        ]
    }

    /// Results do not say how many members got the message: at least one did.
    private static func group(_ outcome: LegacyOutcome, _ failedMembers: [String]) -> JSONObject {
        var (success, failure) = (1, failedMembers.count)
        if case .error = outcome { (success, failure) = (0, max(failure, 1)) }
        var object: JSONObject = [
            "success": .number(JSONNumber(Int64(success))), "failure": .number(JSONNumber(Int64(failure))),
        ]
        if !failedMembers.isEmpty { object["failed_registration_ids"] = .array(failedMembers.map { .string($0) }) }
        return object
    }

    /// python-gcm splits the first line at its `=`, so there is no other one, and decodes the token of the second. No
    /// line feed ends the last line, which clients would take for a second one.
    private static func lines(_ outcome: LegacyOutcome) -> ServedAnswer {
        switch outcome {
        case .error(let code): return .text("Error=" + code.rawValue)
        case .accepted(let id, let canonical):
            var lines = Array("id=".utf8)
            let isPlain = id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
            if isPlain { lines += id.utf8 } else { lines.appendPercentEncoded(id) }
            if let canonical {
                lines += "\nregistration_id=".utf8
                lines.appendPercentEncoded(canonical)
            }
            return .text(String(decoding: lines, as: UTF8.self))
        }
    }
}

extension ServedAnswer {
    static func text(_ text: String, status: Int = 200, headers: [Header] = []) -> ServedAnswer {
        ServedAnswer(status: status, type: "text/plain; charset=UTF-8", body: Array(text.utf8), headers: headers)
    }
}
