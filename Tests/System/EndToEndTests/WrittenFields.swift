import Foundation
import TestSupport
import Testing

/// The fields that workers write for applications, by the tables of the page Results. The rig compares all that it reads.
enum WrittenFields {
    static let tables: [String: Set<String>] = {
        let sections = [
            "results": "## results", "feedback": "## feedback", "hash": "## The hash", "dead": "## dead",
            "upstream": "## upstream",
        ]
        var tables = sections.mapValues { Set((try? PageTable(page: "Results", section: $0).names) ?? []) }
        let entry = try? PageTable(page: "Results", section: "## results", column: "field of an entry")
        tables["results entry"] = Set(entry?.names ?? [])
        return tables
    }()

    /// The name that the page uses for a field: names of errors and of pushed fields vary.
    static func general(_ field: String) -> String {
        if field.hasPrefix("f.") { return "f.<field>" }
        return field.hasPrefix("error.") ? "error.<error>.<action>" : field
    }

    /// Expects the fields of a hash, of an entry or of a result to be on the page.
    static func check(_ fields: some Sequence<String>, in table: String) {
        guard let known = tables[table] else { return }
        let unknown = Set(fields.map(general)).subtracting(known)
        #expect(unknown.isEmpty, "the page Results lacks fields of \(table)")
    }

    /// The fields of the objects in an entry of `results`.
    static func names(ofResults text: [UInt8]) throws -> Set<String> {
        let objects = try JSONSerialization.jsonObject(with: Data(text)) as? [[String: Any]]
        return Set((objects ?? []).flatMap(\.keys))
    }
}
