internal import FanfareClient
internal import StreamWire

/// One line about a job's progress: the estimate or what the job waits for, then the share, the counts and the rate.
struct ProgressLine {
    let progress: JobProgress
    /// When the next retry is due, Unix milliseconds; nil if unknown.
    var nextRetryMs: Int64?

    private static let widestBar = 24
    private static let narrowestBar = 8

    private var status: JobStatus { progress.status }

    /// At most `width` columns; a part that does not fit is left out. nil shows everything.
    func text(width: Int?) -> String {
        let percent = "\(Int(Self.share(status) * 100))%"
        let counts = "\(status.finished)/\(status.total)"
        var head = head
        // Only words are cut: what an operator or a worker wrote as the reason.
        if let width, let heldBy, head == heldBy {
            let least = TextWidth.of(percent) + TextWidth.of(counts) + 4
            head = TextWidth.shortened(heldBy, to: max(0, width - least))
        }
        let rate = status.isOver ? nil : progress.resultsPerSecond
        var parts: [(text: String, rank: Int)] = [
            (head, 2), (percent, 0), (counts, 1), (rate.map(PaceText.rate) ?? "", 3),
        ]
        if status.state != .active { parts.append((status.state.rawValue, 5)) }
        for (name, count) in status.counters where count > 0 && !["total", "duplicates", "sent"].contains(name) {
            if name == "retrying", head == tail { continue }
            parts.append(("\(count) \(name)", ["failed", "unknown", "maybe_dup"].contains(name) ? 4 : 6))
        }
        let line = TextWidth.fitted(parts, width: width)
        let room = min(Self.widestBar, (width ?? .max) - TextWidth.of(line) - 4)
        guard status.total > 1, room >= Self.narrowestBar else { return line }
        parts.insert((Self.bar(status, width: room), 9), at: 2)
        return TextWidth.fitted(parts, width: width)
    }

    /// What a user wants to know first: for how long, or for what. Empty if nothing is known.
    private var head: String {
        if status.isOver { return "" }
        if let heldBy { return heldBy }
        if status.state == .scheduled, let startMs = status.notBeforeMs {
            return "starts at \(ClockText.moment(startMs, nowMs: progress.nowMs))"
        }
        if let tail { return tail }
        switch progress.turn {
        case .waiting: return JobRendering.remaining(progress) ?? ""
        case .none, .holding: return progress.remainingSeconds.map { "\(PaceText.duration($0)) left" } ?? ""
        }
    }

    /// Why nothing is sent; nil if something is.
    private var heldBy: String? {
        JobRendering.heldBy(progress).map {
            "\([.paused, .parked].contains(status.state) ? "" : "held by ")\($0)"
        }
    }

    private var tail: String? { JobRendering.tail(progress, nextRetryMs) }

    /// The finished share of a job as `[###...]`.
    static func bar(_ status: JobStatus, width: Int) -> String {
        let filled = Int(share(status) * Double(width))
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    }

    private static func share(_ status: JobStatus) -> Double {
        status.total > 0 ? min(1, max(0, Double(status.finished) / Double(status.total))) : 0
    }
}
