public import FanfareJSON

/// A job as one JSON object, whose members are the fields of an entry of `jobs`.
public enum JobObject {
    /// The fields as they are pushed: a string as it is, any other value as its JSON.
    public static func fields(of job: JSONValue) throws(EntryFault) -> [(name: String, value: [UInt8])] {
        guard let object = job.object else { throw EntryFault("", "must be a JSON object, not \(job.kindName)") }
        var fields: [(name: String, value: [UInt8])] = []
        for member in object.members {
            switch member.value {
            case .string(let text): fields.append((member.key, Array(text.utf8)))
            case .null: throw EntryFault(Excerpt.plain(member.key), "null; leave the field out")
            default: fields.append((member.key, member.value.jsonBytes))
            }
        }
        return fields
    }
}
