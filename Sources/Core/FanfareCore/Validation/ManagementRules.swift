internal import FanfareModel

/// Checks the fields of every operation but `send`.
struct ManagementRules {
    /// FCM's limit for one group.
    static let groupMembers = 20
    static let groupNameLength = 1_024

    /// The project's sender id is configured; requests about groups need it.
    let hasSenderID: Bool

    static func operation(_ fields: EntryFields) throws(EntryFault) -> Operation {
        var operation = Operation.send
        if let name = fields[.op] {
            // By bytes: String comparison also accepts other encodings of the same characters.
            guard let found = Operation.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name) }) else {
                throw EntryFault(EntryField.op.rawValue, "\(Excerpt.quoted(name)) is not an operation")
            }
            operation = found
        }
        let isAllowed = operation != .send || fields[.groupName] == nil
        try require(isAllowed, EntryField.groupName.rawValue, "only with a group operation")
        return operation
    }

    func job(_ operation: Operation, entryID: String, fields: EntryFields) throws(EntryFault) -> Job {
        guard hasSenderID || !operation.isGroupOperation else {
            let rule = "\(operation.rawValue) needs the project's sender_id, not configured"
            throw EntryFault(EntryField.op.rawValue, rule)
        }
        try checkFieldNames(operation, fields)
        var job = try GeneralFields.job(operation, fields, entryID: entryID)
        if operation.isSubscription {
            job.subscription = try RecipientRules.topicName(fields[.topic] ?? [], at: EntryField.topic.rawValue)
        }
        guard operation.isGroupOperation else {
            job.target = .tokens(try tokens(fields))
            return job
        }
        // FCM names no alphabet.
        let path = EntryField.groupName.rawValue
        job.groupName = try TextRules.name(fields[.groupName] ?? [], most: Self.groupNameLength, at: path)
        var key = ""
        if let group = fields[.group] {
            try RecipientRules.checkToken(group, at: EntryField.group.rawValue)
            key = String(decoding: group, as: UTF8.self)
        }
        let members = fields[.tokens] == nil ? [] : try tokens(fields)
        guard members.count <= Self.groupMembers else {
            let rule = "\(members.count) tokens, at most \(Self.groupMembers) for a group"
            throw EntryFault(EntryField.tokens.rawValue, rule)
        }
        job.target = .group(key)
        job.members = Array(members)
        return job
    }

    /// The operation's own fields are required, and fields of other operations are not allowed.
    private func checkFieldNames(_ operation: Operation, _ fields: EntryFields) throws(EntryFault) {
        let own = Self.ownFields(operation)
        for field in EntryField.allCases where fields[field] != nil {
            guard own.contains(field) || GeneralFields.names.contains(field) else {
                let names = own.map(\.rawValue).joined(separator: ", ")
                throw EntryFault(field.rawValue, "not with \(operation.rawValue), which takes \(names)")
            }
        }
        for field in own where fields[field] == nil {
            throw EntryFault(field.rawValue, "required with \(operation.rawValue)")
        }
    }

    static func ownFields(_ operation: Operation) -> [EntryField] {
        switch operation {
        case .send: return []
        case .subscribe, .unsubscribe: return [.topic, .tokens]
        case .topicList: return [.tokens]
        case .groupCreate: return [.groupName, .tokens]
        case .groupAdd, .groupRemove: return [.groupName, .group, .tokens]
        case .groupGet: return [.groupName]
        }
    }

    private func tokens(_ fields: EntryFields) throws(EntryFault) -> RecipientList {
        var scanner = TokenListScanner(field: EntryField.tokens.rawValue, bytes: fields[.tokens] ?? [])
        return try scanner.scan()
    }
}
