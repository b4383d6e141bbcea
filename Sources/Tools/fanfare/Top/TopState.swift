/// What the user of `fanfare top` looks at and is asked; keys change it.
struct TopState: Equatable {
    enum Row: Hashable {
        case project(String)
        case job(String, project: String)

        var project: String {
            switch self {
            case .project(let id), .job(_, let id): id
            }
        }

        var name: String {
            switch self {
            case .project(let id): "project \(id)"
            case .job(let id, _): "job \(id)"
            }
        }
    }

    enum Sort: String {
        /// What needs attention first.
        case state, waiting, rate, name

        var next: Sort {
            switch self {
            case .state: .waiting
            case .waiting: .rate
            case .rate: .name
            case .name: .state
            }
        }
    }

    /// A change that the user is asked to confirm.
    struct Change: Equatable {
        enum Verb: String { case pause, resume }

        var verb: Verb
        var row: Row
        var reason = ""
    }

    enum Mode: Equatable {
        case list, help
        /// Followed by `reason` or `list`.
        case confirm(Change)
        /// The reason is typed; followed by `list`.
        case reason(Change)
    }

    /// What the caller has to do after a key.
    enum Effect: Equatable {
        case quit
        case perform(Change)
    }

    /// A reason longer than this is not typed on.
    static let longestReason = 200

    /// False with `--read-only` and without a keyboard: nothing can be selected or changed.
    var canAct = true
    var mode = Mode.list
    var sort = Sort.state
    /// Whether each idle project has a row; otherwise many of them share one.
    var showsIdle = false
    /// The project whose view is open; nil for the view of all projects.
    var opened: String?
    /// The selection; a row that is gone counts as the first one.
    var selected: Row?
    /// The outcome of the last change, until the next key.
    var notice: String?

    func selection(_ rows: [Row]) -> Row? {
        guard canAct else { return nil }
        return selected.flatMap { rows.contains($0) ? $0 : nil } ?? rows.first
    }

    /// - Parameters:
    ///   - rows: the rows that can be selected, in their order on the screen.
    ///   - page: rows of a page.
    mutating func press(_ key: TopKey, rows: [Row], page: Int) -> Effect? {
        notice = nil
        switch mode {
        case .help:
            mode = .list
            return key == .text("q") ? .quit : nil
        case .confirm(let change):
            confirm(change, key)
            return nil
        case .reason(let change): return type(change, key)
        case .list: return navigate(key, rows, max(1, page))
        }
    }

    private mutating func confirm(_ change: Change, _ key: TopKey) {
        mode = key == .text("y") || key == .text("Y") ? .reason(change) : .list
    }

    private mutating func type(_ change: Change, _ key: TopKey) -> Effect? {
        var change = change
        switch key {
        case .enter:
            mode = .list
            return .perform(change)
        case .escape:
            mode = .list
            return nil
        case .backspace: _ = change.reason.popLast()
        case .text(let character) where change.reason.count < Self.longestReason: change.reason.append(character)
        default: break
        }
        mode = .reason(change)
        return nil
    }

    private mutating func navigate(_ key: TopKey, _ rows: [Row], _ page: Int) -> Effect? {
        switch key {
        case .up, .text("k"): move(-1, rows)
        case .down, .text("j"): move(1, rows)
        case .pageUp: move(-page, rows)
        case .pageDown: move(page, rows)
        case .home, .text("g"): move(-rows.count, rows)
        case .end, .text("G"): move(rows.count, rows)
        case .enter: open(rows)
        case .escape, .backspace: close()
        case .text("s"): sort = sort.next
        case .text("i"): showsIdle.toggle()
        case .text("p"): ask(.pause, rows)
        case .text("r"): ask(.resume, rows)
        case .text("?"), .text("h"): mode = .help
        case .text("q"), .text("Q"): return .quit
        default: break
        }
        return nil
    }

    private mutating func move(_ step: Int, _ rows: [Row]) {
        guard let row = selection(rows), let index = rows.firstIndex(of: row) else { return }
        selected = rows[min(rows.count - 1, max(0, index + step))]
    }

    private mutating func open(_ rows: [Row]) {
        guard opened == nil, let row = selection(rows) else { return }
        opened = row.project
        selected = row
    }

    private mutating func close() {
        guard let project = opened else { return }
        opened = nil
        selected = .project(project)
    }

    private mutating func ask(_ verb: Change.Verb, _ rows: [Row]) {
        guard let row = selection(rows) else { return }
        mode = .confirm(Change(verb: verb, row: row))
    }
}
