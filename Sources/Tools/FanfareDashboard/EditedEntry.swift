internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel

/// The fields of a rejected entry with a user's changes.
///
/// The page shows tokens masked, so it sends only what the user changed: everything else is taken from the stored entry,
/// and a text that holds a masked token is refused.
enum EditedEntry {
    typealias Field = (name: String, value: [UInt8])

    struct EditError: Error, Equatable {
        var message: String
    }

    private static let maximumChanges = 64
    private static let maximumNameBytes = 64

    /// - Parameter changes: an array of `{"name", "value"}` to set a field, `{"name", "remove": true}` to remove it, and
    ///   `{"name", "without": [2, 5]}` to remove elements of its JSON array.
    static func fields(of entry: DeadEntry, changes: JSONValue?) throws(EditError) -> [Field] {
        guard entry.kind == .rejected else {
            throw EditError(
                message: "Only a rejected job can be edited: a parked one keeps the fields it was pushed with."
            )
        }
        guard let changes = changes?.array, !changes.isEmpty else {
            throw EditError(message: "Nothing was changed: the same fields would be rejected again.")
        }
        guard changes.count <= maximumChanges else {
            throw EditError(message: "At most \(maximumChanges) fields can be changed.")
        }
        var fields: [Field] = entry.originals
        for change in changes {
            guard let change = change.object, let name = change["name"]?.string,
                (1...maximumNameBytes).contains(name.utf8.count)
            else { throw EditError(message: "Each change names a field of 1 to \(maximumNameBytes) bytes.") }
            try apply(change, to: name, &fields)
        }
        guard !fields.isEmpty else { throw EditError(message: "No field is left: drop the job instead.") }
        return fields
    }

    private static func apply(_ change: JSONObject, to name: String, _ fields: inout [Field]) throws(EditError) {
        let place = fields.firstIndex { $0.name == name }
        if change["remove"] == true {
            fields.removeAll { $0.name == name }
        } else if let value = change["value"]?.string {
            guard !MaskedField.holdsMask(value) else {
                throw EditError(message: "\(name): holds a masked token; write the whole value or leave it unchanged.")
            }
            if ["not_before", "expires_at"].contains(name), let fault = Job.timeFault(value) {
                throw EditError(message: "\(name): \(fault)")
            }
            // A name that was given twice stays once.
            fields.removeAll { $0.name == name }
            fields.insert((name, Array(value.utf8)), at: min(place ?? fields.count, fields.count))
        } else if let indices = change["without"]?.array {
            guard let place, let elements = MaskedField.elements(fields[place].value) else {
                throw EditError(message: "\(name): is not a JSON array.")
            }
            let removed = Set(indices.compactMap { $0.number?.int64 })
            guard removed.count == indices.count, removed.allSatisfy({ elements.indices.contains(Int($0)) }) else {
                throw EditError(message: "\(name): each index must be 0 to \(elements.count - 1), and given once.")
            }
            let kept = elements.enumerated().filter { !removed.contains(Int64($0.offset)) }.map(\.element)
            fields[place].value = JSONValue.array(kept).jsonBytes
        } else {
            throw EditError(message: "\(name): a change has a `value`, `remove` or `without`.")
        }
    }
}
