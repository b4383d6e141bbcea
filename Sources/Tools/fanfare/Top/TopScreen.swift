internal import FanfareClient

/// A snapshot of the fleet as lines of text.
struct TopScreen {
    struct Line: Equatable {
        /// The escape sequence of each style.
        enum Style: String {
            case plain = ""
            case heading = "\u{1B}[1m"
            case warning = "\u{1B}[33m"
            case alarm = "\u{1B}[1;31m"
        }

        var text: String
        var style = Style.plain
        var isSelected = false
    }

    struct Failure: Equatable {
        var error: String
        var count: Int64
    }

    /// A table of the screen.
    struct Section {
        var table: TextTable
        /// Whether each row is shown as a warning.
        var warnings: [Bool] = []
        /// The rows that can be selected; empty if none can.
        var rows: [TopState.Row] = []
        /// Which sections lose their place first if there are too few lines.
        var rank: Int

        var count: Int { warnings.count }
    }

    var snapshot: FleetSnapshot
    var meter: FleetMeter
    var state = TopState(canAct: false)
    /// Shown below the title, for example that Redis does not answer.
    var readError: String?
    /// Results of the opened project that are not `sent`, by error.
    var failures: [Failure] = []

    /// The rows that can be selected, in their order on the screen.
    var rows: [TopState.Row] {
        (opened.map { [.project($0.id)] } ?? []) + sections.flatMap(\.rows)
    }

    /// The project whose view is open; nil if there is none, or if it is gone.
    var opened: ProjectSnapshot? { state.opened.flatMap { snapshot[$0] } }

    private var sections: [Section] {
        let all = opened.map { [jobs(of: $0), failed, workers(of: $0.id)] } ?? [projects, jobs, workers]
        return all.filter { $0.count > 0 }
    }

    /// - Parameters:
    ///   - width: drops columns and shortens texts to fit; nil shows everything.
    ///   - height: shortens the lists to fit, and fills the rest; nil shows everything.
    func lines(width: Int?, height: Int?) -> [Line] {
        if state.mode == .help, let width, let height { return Self.framed(help(width), foot(width), height) }
        let selection = state.selection(rows)
        var head = head(width)
        if let opened { head += detail(of: opened, width, isSelected: selection == .project(opened.id)) }
        guard let width, let height else {
            let all = sections.flatMap { [Line(text: "")] + self.lines(of: $0, width, nil, selection) }
            return head + all + [Line(text: Self.meaning)]
        }
        var sections = sections
        var room = height - head.count - 1
        // Each section needs its titles and a row.
        while sections.count > 1, sections.count * 2 > room, let last = Self.leastImportant(sections) {
            sections.remove(at: last)
        }
        let isSpacious = sections.count * 4 <= room
        room -= sections.count * (isSpacious ? 2 : 1)
        var body: [Line] = []
        for (section, share) in zip(sections, Self.shares(sections.map(\.count), room: max(0, room))) {
            if isSpacious { body.append(Line(text: "")) }
            body += lines(of: section, width, share, selection)
        }
        return Self.framed(head + body, foot(width), height)
    }

    private static func leastImportant(_ sections: [Section]) -> Int? {
        sections.indices.max { sections[$0].rank < sections[$1].rank }
    }

    /// Exactly `height` lines, the last of which is the foot.
    private static func framed(_ lines: [Line], _ foot: Line, _ height: Int) -> [Line] {
        guard height > 1 else { return Array(lines.prefix(1)) }
        let shown = lines.prefix(height - 1)
        return shown + [Line](repeating: Line(text: ""), count: height - 1 - shown.count) + [foot]
    }

    /// Divides lines fairly: a short list gets all it wants, and no line is left over while a list wants more.
    static func shares(_ wanted: [Int], room: Int) -> [Int] {
        var shares = wanted
        var room = room
        let order = wanted.indices.sorted { (wanted[$0], -$0) < (wanted[$1], -$1) }
        for (index, section) in order.enumerated() {
            shares[section] = min(wanted[section], room / (order.count - index))
            room -= shares[section]
        }
        return shares
    }

    /// A section's titles and `share` of its rows around the selection.
    private func lines(of section: Section, _ width: Int?, _ share: Int?, _ selection: TopState.Row?) -> [Line] {
        let texts = section.table.lines(width: width)
        let selected = selection.flatMap { section.rows.firstIndex(of: $0) }
        func line(_ index: Int) -> Line {
            Line(
                text: texts[index + 1],
                style: section.warnings[index] ? .warning : .plain,
                isSelected: index == selected
            )
        }
        let title = Line(text: texts[0], style: .heading)
        guard let share, share < section.count else { return [title] + section.warnings.indices.map(line) }
        guard share > 0 else { return [title] }
        let count = share - 1
        let start = min(max(0, (selected ?? 0) - count / 2), section.count - count)
        let below = section.count - start - count
        let above = start > 0 ? "… \(start) above" : ""
        let parts = [(above, 1), (below > 0 ? "… \(below) more" : "", 0)]
        return [title] + (start..<start + count).map(line) + [Line(text: TextWidth.fitted(parts, width: width))]
    }
}
