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
        guard operation != .send || fields[.groupName] == nil else {
            throw EntryFault(EntryField.groupName.rawValue, "only with a group operation")
        }
        return operation
    }

    func job(_ operation: Operation, entryID: String, fields: EntryFields) throws(EntryFault) -> Job {
        guard hasSenderID || !operation.isGroupOperation else {
            let rule = "\(operation.rawValue) needs the project's sender_id, not configured"
            throw EntryFault(EntryField.op.rawValue, rule)
        }
        try checkFieldNames(operation, fields)
        let general = try GeneralFields(fields, entryID: entryID)
        if operation.isSubscription {
            let topic = try RecipientRules.topicName(fields[.topic] ?? [], at: EntryField.topic.rawValue)
            var job = general.job(operation, target: .tokens(try tokens(fields)))
            job.subscription = topic
            return job
        }
        let name = try groupName(fields[.groupName] ?? [])
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
        var job = general.job(operation, target: .group(key))
        job.groupName = name
        job.members = Array(members)
        return job
    }

    /// The operation's own fields are required, and those of other operations are not allowed.
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
        case .groupCreate: return [.groupName, .tokens]
        case .groupAdd, .groupRemove: return [.groupName, .group, .tokens]
        case .groupGet: return [.groupName]
        }
    }

    private func tokens(_ fields: EntryFields) throws(EntryFault) -> RecipientList {
        var scanner = TokenListScanner(field: EntryField.tokens.rawValue, bytes: fields[.tokens] ?? [])
        return try scanner.scan()
    }

    /// FCM names no alphabet; control characters are refused because they break lines and logs.
    private func groupName(_ bytes: [UInt8]) throws(EntryFault) -> String {
        let path = EntryField.groupName.rawValue
        guard !bytes.isEmpty else { throw EntryFault(path, "empty") }
        guard bytes.count <= Self.groupNameLength else {
            throw EntryFault(path, "\(bytes.count) bytes, at most \(Self.groupNameLength)")
        }
        guard let name = String(validating: bytes, as: UTF8.self) else { throw EntryFault(path, "not UTF-8") }
        if let offset = TextRules.controlCharacter(in: bytes) {
            throw EntryFault(path, "control character at byte \(offset)")
        }
        return name
    }
}
