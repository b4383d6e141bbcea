public import FanfareJSON

/// JSON Merge Patch (RFC 7396), which merges a variant over a job's message.
///
/// A member that is replaced stays at its place, a new one goes last, and a null removes the member. Recursion is as deep
/// as the patch, which the parser's depth limit bounds.
public enum MergePatch {
    /// The target changed by the patch.
    ///
    /// - Parameters:
    ///   - patch: an object changes the members that it names; any other value replaces the target.
    ///   - target: a value that is not an object counts as an empty object where the patch is one; nil stands for an
    ///     absent member.
    /// - Returns: an object has no name twice. Equal names of a patch apply one after the other.
    public static func apply(_ patch: JSONValue, to target: JSONValue?) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        return .object(apply(changes, to: target?.object ?? JSONObject()))
    }

    /// The same for two objects, such as a variant and the message.
    public static func apply(_ patch: JSONObject, to target: JSONObject) -> JSONObject {
        // A removed member becomes nil. The table keeps a patch with thousands of names linear.
        var members: [JSONObject.Member?] = []
        var places: [[UInt8]: Int] = [:]
        members.reserveCapacity(target.count + patch.count)
        func set(_ key: String, _ value: JSONValue) {
            let name = Array(key.utf8)
            if let place = places[name] {
                members[place]?.value = value
            } else {
                places[name] = members.count
                members.append(JSONObject.Member(key: key, value: value))
            }
        }
        for member in target.members { set(member.key, member.value) }
        for member in patch.members {
            let name = Array(member.key.utf8)
            if member.value == .null {
                if let place = places.removeValue(forKey: name) { members[place] = nil }
            } else {
                set(member.key, apply(member.value, to: places[name].flatMap { members[$0]?.value }))
            }
        }
        return JSONObject(members.compactMap { $0 })
    }
}
