internal import FanfareJSON
internal import FanfareModel

/// The target of a legacy request.
struct LegacyTarget: Equatable, Sendable {
    /// The place of a token's outcome.
    enum Slot: Equatable, Sendable {
        /// The outcome of the recipient with this position among ``recipients``. Equal tokens share one.
        case recipient(Int)
        /// The token is malformed, and is not sent to.
        case refused(LegacyCode)

        var refusal: LegacyCode? {
            if case .refused(let code) = self { return code }
            return nil
        }
    }

    /// FCM's limit of `registration_ids`.
    static let maximumTokens = Batch.maximumSize

    private(set) var kind = RecipientKind.token
    private(set) var recipients: [String] = []
    /// Whether the token looks like a device group's key, as tokens of GCM's time do, too.
    private var mayBeGroup = false
    /// One for each token of the request, or for its one topic, condition or group.
    private(set) var slots: [Slot] = []

    /// The form of the answer to a request in JSON.
    var shape: LegacyShape {
        switch kind {
        case .token, .fid: mayBeGroup ? .tokenOrGroup : .list
        case .topic, .condition: .broadcast
        case .group: .group
        }
    }

    /// Reads `to`, `registration_ids`, `condition` or `notification_key`. An empty text is the same as none: go-fcm and
    /// others write each member.
    init(_ object: JSONObject) throws(LegacyFault.Reason) {
        let names = ["condition", "notification_key", "registration_ids", "to"].filter { name in
            object[name].map { $0 != .null && $0 != "" } ?? false
        }
        guard let name = names.first, let value = object[name] else { throw .code(.missingRegistration) }
        guard names.count == 1 else {
            throw .sentence("Must use either \"\(name)\" field or \"\(names[1])\", not both")
        }
        guard name != "registration_ids" else {
            try readTokens(value)
            return
        }
        guard let text = value.string else { throw .sentence("Field \"\(name)\" must be a JSON string") }
        do throws(EntryFault) {
            switch name {
            case "condition": try readCondition(text)
            case "notification_key": try readGroup(text)
            default: try readRecipient(text)
            }
        } catch {
            throw LegacyFault.Reason(problem: error.reason)
        }
    }

    /// Reads `registration_id`, the only target of plain text.
    init(form object: JSONObject) throws(LegacyFault.Reason) {
        let tokens = object.members.filter { $0.key == "registration_id" }
        guard tokens.count < 2 else { throw .code(.invalidParameters) }
        add(tokens.first?.value.string ?? "")
    }

    private mutating func readTokens(_ value: JSONValue) throws(LegacyFault.Reason) {
        // A token is a secret, so no sentence repeats the value.
        let isList = "Field \"registration_ids\" must be a JSON array of strings"
        guard let list = value.array else { throw .sentence(isList) }
        guard !list.isEmpty else { throw .sentence("\"registration_ids\" field cannot be empty") }
        let (count, most) = (list.count, Self.maximumTokens)
        guard count <= most else {
            throw .sentence("Number of messages on bulk (\(count)) exceeds maximum allowed (\(most))")
        }
        var positions: [String: Int] = [:]
        for element in list {
            guard let token = element.string else { throw .sentence(isList) }
            if let position = positions[token] {
                slots.append(.recipient(position))
            } else if add(token) {
                positions[token] = recipients.count - 1
            }
        }
    }

    /// Adds one token; false for a malformed one. The reference has a code for a missing and for a malformed token.
    @discardableResult
    private mutating func add(_ token: String) -> Bool {
        guard RecipientRules.isToken(token) else {
            slots.append(.refused(token.isEmpty ? .missingRegistration : .invalidRegistration))
            return false
        }
        slots.append(.recipient(recipients.count))
        recipients.append(token)
        return true
    }

    private mutating func readRecipient(_ text: String) throws(EntryFault) {
        guard text.utf8.starts(with: "/topics/".utf8) else {
            add(text)
            mayBeGroup = text.utf8.starts(with: "APA91b".utf8) && !text.utf8.contains(UInt8(ascii: ":"))
            return
        }
        set(.topic, try RecipientRules.topicName(Array(text.utf8), at: "to"))
    }

    /// The limits are v1's. Whether the project's transport allows as many operators, its worker decides.
    private mutating func readCondition(_ text: String) throws(EntryFault) {
        set(.condition, try ConditionParser.check(Array(text.utf8), limits: TransportTraits.v1.conditions))
    }

    private mutating func readGroup(_ text: String) throws(EntryFault) {
        try RecipientRules.checkToken(text.utf8, at: "notification_key")
        set(.group, text)
    }

    private mutating func set(_ kind: RecipientKind, _ recipient: String) {
        (self.kind, recipients, slots) = (kind, [recipient], [.recipient(0)])
    }
}
