/// What plain-text requests of the legacy transport can name at all: one token, data, and four options.
enum PlainTextRules {
    static let noCounterpart = "no counterpart in plain text, this project's legacy_body is text"

    static func check(target field: EntryField) throws(EntryFault) {
        switch field {
        case .topic, .condition, .group: throw EntryFault(field.rawValue, noCounterpart)
        default: break
        }
    }
}
