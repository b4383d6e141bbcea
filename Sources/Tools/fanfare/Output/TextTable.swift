/// A table of aligned columns.
struct TextTable {
    private var rows: [[String]]
    /// Columns that are aligned to the right.
    private let numeric: Set<Int>

    init(_ header: [String], numeric: Set<Int> = []) {
        rows = [header]
        self.numeric = numeric
    }

    mutating func add(_ row: [String]) { rows.append(row.map(Self.visible)) }

    /// Replaces control characters: cells repeat text from outside.
    private static func visible(_ cell: String) -> String {
        String(String.UnicodeScalarView(cell.unicodeScalars.map { PrintableText.isUnsafe($0) ? "?" : $0 }))
    }

    var lines: [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                return numeric.contains(column) ? gap + cell : cell + gap
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
