/// Plain-text requests of the legacy transport can carry one token, data, and four options.
enum PlainTextRules {
    static let noCounterpart = "has no counterpart in plain text"

    static func check(target field: EntryField) throws(EntryFault) {
        switch field {
        case .topic, .condition, .group: throw EntryFault(field.rawValue, noCounterpart)
        default: break
        }
    }
}
