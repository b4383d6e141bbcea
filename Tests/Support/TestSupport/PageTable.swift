internal import Foundation

/// A table of a page of the documentation.
public struct PageTable: Sendable {
    /// The cells of each row below the header, trimmed.
    public let rows: [[String]]

    /// Reads the first table of a section whose first column has a title.
    ///
    /// - Parameters:
    ///   - page: the page's name, without `.md`.
    ///   - section: the start of the section's heading, with its number signs.
    ///   - column: the title of the first column.
    public init(page: String, section: String, column: String = "field") throws {
        let file = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/\(page).md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let table = lines.drop { !$0.hasPrefix(section) }.drop { !$0.hasPrefix("| \(column) |") }
        rows = table.dropFirst(2).prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        guard !rows.isEmpty else { throw TestFailure("\(page).md has no table of \(column) below \(section)") }
    }

    /// The names in the first column, each of which is code.
    public var names: [String] { rows.flatMap { Self.code($0[0]) } }

    /// The code in a cell.
    public static func code(_ cell: String) -> [String] { cell.matches(of: /`([^`]+)`/).map { String($0.1) } }
}
