internal import FanfareClient
internal import StreamWire

/// The lines above and below the tables.
extension TopScreen {
    static let meaning = "Sent means accepted by FCM, not delivered and not shown."

    func head(_ width: Int?) -> [Line] {
        func sum(_ value: (FleetRates) -> Double) -> Double {
            snapshot.projects.reduce(0) { $0 + (meter.rates(of: $1.id).map(value) ?? 0) }
        }
        let waiting = snapshot.projects.reduce(Int64(0)) { $0 + $1.recipientsAwaitingSend }
        let alive = snapshot.workersAlive
        let title = TextWidth.fitted(
            [
                ("fanfare", 5), (snapshot.nowMs > 0 ? ClockText.time(snapshot.nowMs) : "no project yet", 4),
                ("\(alive) \(alive == 1 ? "worker" : "workers") alive", 2), ("\(waiting) waiting", 0),
                ("\(PaceText.rate(sum(\.sent))) sent", 1),
                ("\(PaceText.rate(sum { $0.failed + $0.unknown })) failed", 3),
                ("\(snapshot.projects.count) projects by \(state.sort.rawValue)", 6),
            ],
            width: width
        )
        var lines = [Line(text: title, style: .heading)]
        if let readError { lines.append(Line(text: Self.shortened(readError, width), style: .warning)) }
        if let noWorker = snapshot.noWorker {
            lines.append(Line(text: Self.shortened("\(noWorker) Start `fanfare worker`.", width), style: .alarm))
        }
        return lines + jobsNeedingAttention.map { Line(text: Self.shortened($0, width), style: .warning) }
    }

    /// A line for each of the first jobs that need an operator: campaigns that stopped come first.
    private var jobsNeedingAttention: [String] {
        let conditions = snapshot.projects.filter { opened == nil || $0.id == opened?.id }.flatMap { project in
            project.attentionConditions.filter(\.isOfJobs).map { (kind: $0.kind, text: "\(project.id): \($0.text)") }
        }
        let all = ["stopped", "parked", "canary", "rejected"].flatMap { kind in
            conditions.filter { $0.kind == kind }.map(\.text)
        }
        let most = 3
        guard all.count > most else { return all }
        return all.prefix(most - 1) + ["… \(all.count - most + 1) more; `fanfare project ls` names them"]
    }

    /// The opened project: its state, and its numbers on as many lines as they need.
    func detail(of project: ProjectSnapshot, _ width: Int?, isSelected: Bool) -> [Line] {
        let condition = project.condition
        let overview = project.overview
        let needsAttention = TopScreen.needsAttention(condition.word)
        let since = condition.sinceMs.map { " since \(ClockText.moment($0, nowMs: overview.nowMs))" } ?? ""
        let reason = condition.reason.map { ": \($0)" } ?? ""
        let title = Self.shortened("\(project.id)  \(condition.word)\(since)\(reason)", width)
        let parts =
            paces(of: project) + [
                emptyIn(project).map { "empty in \($0)" } ?? "", "\(project.inFlight) in flight",
                project.oldestWaitMs > 0
                    ? "oldest waits \(PaceText.duration(Double(project.oldestWaitMs) / 1_000))" : "",
            ] + [
                "\(overview.scheduled) scheduled", "\(overview.retrying) wait for a retry", "\(project.dead) dead",
                project.unreadResults.map { "\($0) results unread" } ?? "",
            ]
        return [Line(text: title, style: needsAttention ? .warning : .heading, isSelected: isSelected)]
            + Self.wrapped(parts, width).map { Line(text: $0) }
    }

    private func paces(of project: ProjectSnapshot) -> [String] {
        let overview = project.overview
        var parts = ["\(project.recipientsAwaitingSend) waiting", "\(overview.entries) pushed, not taken"]
        if let rates = meter.rates(of: project.id) {
            parts.append("\(PaceText.rate(rates.sent)) sent")
            parts.append("\(PaceText.rate(rates.failed + rates.unknown)) failed")
            parts.append("\(PaceText.rate(rates.retries)) retries")
        }
        if overview.quotaPerMinute > 0 {
            parts.append("quota \(PaceText.rate(Double(overview.quotaPerMinute) / 60))")
        }
        if overview.permitsPerSecond > 0 { parts.append("permits \(PaceText.rate(overview.permitsPerSecond))") }
        return parts
    }

    /// The last line: a question, the outcome of a change, or the keys.
    func foot(_ width: Int) -> Line {
        switch state.mode {
        case .confirm(let change): return Line(text: Self.question(change, width), style: .warning)
        case .reason(let change): return Line(text: Self.prompt(change, width), style: .warning)
        case .help: return Line(text: TextWidth.fitted([("any key: back", 1), ("q quit", 0)], width: width))
        case .list: break
        }
        if let notice = state.notice { return Line(text: Self.shortened(notice, width), style: .heading) }
        guard state.canAct else { return Line(text: TextWidth.fitted([(Self.meaning, 0)], width: width)) }
        let parts: [(String, Int)] = [
            ("↑↓ select", 6), state.opened == nil ? ("Enter open", 3) : ("Esc back", 1), ("p pause", 4),
            ("r resume", 5),
            state.opened == nil ? ("s sort: \(state.sort.rawValue)", 7) : ("", 10),
            state.opened == nil ? ("i idle", 8) : ("", 10), ("? help", 2), ("q quit", 0),
            ("sent = accepted by FCM", 9),
        ]
        return Line(text: TextWidth.fitted(parts, width: width))
    }

    private static func question(_ change: TopState.Change, _ width: Int) -> String {
        let (verb, name) = (change.verb == .pause ? "Pause " : "Resume ", TextTable.visible(change.row.name))
        let keys = "?  y yes  n no"
        return verb + TextWidth.shortened(name, to: max(1, width - verb.count - keys.count), cut: .middle) + keys
    }

    /// The end of a long reason stays visible, where the user types.
    private static func prompt(_ change: TopState.Change, _ width: Int) -> String {
        let (label, keys) = ("Reason (optional): ", "  Enter \(change.verb.rawValue)  Esc cancel")
        var typed = TextTable.visible(change.reason)
        while !typed.isEmpty, TextWidth.of(typed) + label.count + keys.count + 1 > width { typed.removeFirst() }
        return label + typed + "_" + keys
    }

    func help(_ width: Int) -> [Line] {
        var table = TextTable(columns: [.text("KEY"), .text("DOES", cut: .end)])
        let keys = [
            ("↑ ↓  k j", "select a project or a job"), ("PgUp PgDn", "a page up or down; Home and End (g G): the ends"),
            ("Enter", "open the project: its jobs, failures and workers"), ("Esc Backspace", "back to all projects"),
            ("p", "pause the selected project or job; asks, then takes a reason"), ("r", "resume it"),
            ("s", "sort projects by state (attention first), waiting, rate or name"),
            ("i", "idle projects: a line for all, or one for each"),
            ("? h", "this page"), ("q", "quit"),
        ]
        for (key, text) in state.canAct ? keys : [] { table.add([key, text]) }
        let words = [
            "", "sent: accepted by FCM, neither delivered nor shown.",
            "waiting: recipients without a result, of jobs that workers have taken.",
            "pushed: jobs that no worker has taken yet.", "permits/s: what may be sent a second now; quota/s: at most.",
        ]
        return table.lines(width: width).enumerated().map { Line(text: $1, style: $0 == 0 ? .heading : .plain) }
            + words.map { Line(text: TextWidth.shortened($0, to: width)) }
    }

    private static func shortened(_ text: String, _ width: Int?) -> String {
        let text = TextTable.visible(text)
        return width.map { TextWidth.shortened(text, to: $0) } ?? text
    }

    /// Parts on as many lines as they need; a part that is longer than a line is left out.
    static func wrapped(_ parts: [String], _ width: Int?) -> [String] {
        var lines: [String] = []
        for part in parts where !part.isEmpty && TextWidth.of(part) <= width ?? .max {
            if let last = lines.last, TextWidth.of(last) + 2 + TextWidth.of(part) <= width ?? .max {
                lines[lines.count - 1] = last + "  " + part
            } else {
                lines.append(part)
            }
        }
        return lines
    }
}
