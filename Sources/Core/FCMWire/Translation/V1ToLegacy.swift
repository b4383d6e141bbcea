internal import FanfareJSON

/// A v1 message as a legacy body, by the rows of ``TranslationTable``. A field without a counterpart is refused by
/// name, so nothing is lost.
enum V1ToLegacy {
    static func translate(_ message: JSONObject, _ dialect: LegacyDialect) throws(TranslationError) -> JSONObject {
        var leaves: [Leaf] = []
        try collect(message, dialect, path: [], written: [], into: &leaves)
        let shows = leaves.contains { TranslationTable.rows[$0.row].legacy.first == "notification" }
        var found = [Int: Found]()
        for leaf in leaves {
            let row = TranslationTable.rows[leaf.row]
            let place = row.places[leaf.place]
            // A message that shows nothing has 5 on Apple devices whatever its priority; other platforms may differ.
            if !shows, place.form == .apnsPriority, leaf.value == "5" { continue }
            guard let value = try place.form.fromV1(leaf.value, at: leaf.written) else { continue }
            if let rule = row.legacy.first.flatMap(dialect.fault) { throw TranslationError(leaf.written, rule) }
            if let first = found[leaf.row], first.value != value {
                let other = (["message"] + first.written).joined(separator: ".")
                throw TranslationError(leaf.written, "differs from \(other); legacy has one value for all platforms")
            }
            found[leaf.row, default: Found(value: value, written: leaf.written)].places.insert(leaf.place)
        }
        return try legacy(from: found)
    }

    private struct Leaf {
        let row: Int
        let place: Int
        let value: JSONValue
        /// The path in the producer's spelling.
        let written: [String]
    }

    private struct Found {
        let value: JSONValue
        let written: [String]
        var places: Set<Int> = []
    }

    private static func legacy(from found: [Int: Found]) throws(TranslationError) -> JSONObject {
        var result = JSONObject()
        for (index, row) in TranslationTable.rows.enumerated() {
            guard let entry = found[index] else { continue }
            // A common text reaches every platform; another must be written for each platform that has it.
            let reachesAll = row.places[0].form == .override || row.places[0].path.first == "notification"
            let complete = reachesAll ? entry.places.contains(0) : entry.places.count == row.places.count
            if row.isText, !complete {
                throw TranslationError(entry.written, "legacy cannot show a text on one platform only")
            }
            result.set(row.legacy, to: entry.value)
        }
        return result
    }

    private static func collect(
        _ object: JSONObject,
        _ dialect: LegacyDialect,
        path: [String],
        written: [String],
        into leaves: inout [Leaf]
    ) throws(TranslationError) {
        for member in object.members where member.value != .null {
            let name = canonical(member.key, in: path)
            let here = path + [name]
            let writtenHere = written + [member.key]
            // An alert may be a plain text: its body.
            let isPlainAlert = here == ["apns", "payload", "aps", "alert"] && member.value.string != nil
            if let position = position(of: isPlainAlert ? here + ["body"] : here) {
                leaves.append(
                    Leaf(row: position.row, place: position.place, value: member.value, written: writtenHere)
                )
            } else if let inner = member.value.object, leadsToPlace(here) {
                try collect(inner, dialect, path: here, written: writtenHere, into: &leaves)
            } else if !isRedundant(here, member.value) {
                throw TranslationError(writtenHere, "has no counterpart \(dialect.place)")
            }
        }
    }

    private static func position(of path: [String]) -> (row: Int, place: Int)? {
        for (row, entry) in TranslationTable.rows.enumerated() {
            if let place = entry.places.firstIndex(where: { $0.path == path }) { return (row, place) }
        }
        return nil
    }

    private static func leadsToPlace(_ path: [String]) -> Bool {
        TranslationTable.rows.contains { $0.places.contains { $0.path.starts(with: path) } }
    }

    /// Whether FCM ignores the field on input, takes the value by default, or derives it from the content.
    private static func isRedundant(_ path: [String], _ value: JSONValue) -> Bool {
        if path == ["name"] { return true }
        if path == ["apns", "headers", "apns-push-type"] { return value == "alert" || value == "background" }
        if unspecified[path] == value.string, value.string != nil { return true }
        return !isFree(path) && (value == false || value == .object(JSONObject()) && leadsToPlace(path))
    }

    private static let unspecified = [
        ["android", "notification", "notificationPriority"]: "PRIORITY_UNSPECIFIED",
        ["android", "notification", "visibility"]: "VISIBILITY_UNSPECIFIED",
        ["android", "notification", "proxy"]: "PROXY_UNSPECIFIED",
    ]

    /// Whether names below the path are the producer's own or another protocol's, and have one spelling only.
    private static func isFree(_ path: [String]) -> Bool {
        guard path.count > 1 else { return path == ["data"] }
        return ["headers", "payload", "data"].contains(path[1]) || path.starts(with: ["webpush", "notification"])
    }

    private static func canonical(_ key: String, in path: [String]) -> String {
        if path == ["webpush", "headers"] || path == ["apns", "headers"] {
            return headerNames[key.lowercased()] ?? key.lowercased()
        }
        return isFree(path) ? key : FieldName.camel(key)
    }

    private static let headerNames = ["ttl": "TTL", "urgency": "Urgency", "topic": "Topic"]
}
