/// A table of aligned columns that can be fitted into a width: numbers are never cut.
struct TextTable {
    struct Column {
        let title: String
        /// Aligned to the right.
        var isNumeric = false
        /// The column of the highest rank goes first if the table is too wide. The first column always stays.
        var rank = 0
        /// Where its texts may be shortened; nil if they are shown whole.
        var cut: TextWidth.Cut?
        /// Columns that a shortened text keeps at least.
        var least = 8

        static func text(_ title: String, rank: Int = 0, cut: TextWidth.Cut? = nil, least: Int = 8) -> Column {
            Column(title: title, rank: rank, cut: cut, least: least)
        }

        static func number(_ title: String, rank: Int = 0) -> Column {
            Column(title: title, isNumeric: true, rank: rank)
        }
    }

    private let columns: [Column]
    private var rows: [[String]] = []
    private let hasTitles: Bool

    /// - Parameter hasTitles: whether the first line holds the columns' titles.
    init(columns: [Column], hasTitles: Bool = true) {
        self.columns = columns
        self.hasTitles = hasTitles
    }

    init(_ header: [String], numeric: Set<Int> = []) {
        self.init(columns: header.enumerated().map { Column(title: $1, isNumeric: numeric.contains($0)) })
    }

    mutating func add(_ row: [String]) { rows.append(row.map(Self.visible)) }

    /// Replaces control characters: cells repeat text from outside.
    static func visible(_ cell: String) -> String {
        String(String.UnicodeScalarView(cell.unicodeScalars.map { PrintableText.isUnsafe($0) ? "?" : $0 }))
    }

    var lines: [String] { lines(width: nil) }

    /// - Parameter width: drops columns and shortens texts to fit; nil shows everything.
    func lines(width: Int?) -> [String] {
        var all = rows
        if hasTitles { all.insert(columns.map { Self.visible($0.title) }, at: 0) }
        let natural = columns.indices.map { column in
            all.reduce(0) { widest, row in column < row.count ? max(widest, TextWidth.of(row[column])) : widest }
        }
        let shown = shown(natural, width)
        let widths = widths(natural, shown, width)
        return all.map { row in
            let cells = shown.filter { $0 < row.count }.map { column -> String in
                let text = TextWidth.shortened(row[column], to: widths[column], cut: columns[column].cut ?? .end)
                return TextWidth.padded(text, to: widths[column], isNumeric: columns[column].isNumeric)
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// The narrowest width of a column.
    private func least(_ column: Int, _ natural: [Int]) -> Int {
        columns[column].cut == nil ? natural[column] : min(natural[column], columns[column].least)
    }

    /// The columns that fit into the width.
    private func shown(_ natural: [Int], _ width: Int?) -> [Int] {
        var shown = Array(columns.indices)
        guard let width else { return shown }
        func total() -> Int { shown.reduce(-2) { $0 + least($1, natural) + 2 } }
        while shown.count > 1, total() > width {
            // Of equal ranks, the one to the right.
            let last = shown.dropFirst().max { (columns[$0].rank, $0) < (columns[$1].rank, $1) }
            shown.removeAll { $0 == last }
        }
        return shown
    }

    /// Shares the room that numbers leave among the texts that may be shortened: short ones get all they need.
    private func widths(_ natural: [Int], _ shown: [Int], _ width: Int?) -> [Int] {
        guard let width else { return natural }
        var widths = natural
        let texts = shown.filter { columns[$0].cut != nil }.sorted { natural[$0] < natural[$1] }
        var room = width - 2 * (shown.count - 1)
        for column in shown where columns[column].cut == nil { room -= natural[column] }
        for (index, column) in texts.enumerated() {
            let others = texts[(index + 1)...].map { least($0, natural) }.reduce(0, +)
            let share = max(room / (texts.count - index), least(column, natural))
            widths[column] = max(0, min(natural[column], share, room - others))
            room -= widths[column]
        }
        // A first column that must be shown whole may still be too wide.
        if let first = shown.first, shown.count == 1 { widths[first] = min(widths[first], max(0, width)) }
        return widths
    }
}
