internal import StreamWire

/// A job that a guard has stopped: its `stop_if`, its canary, or the rule for messages that FCM refuses.
public struct StoppedJob: Equatable, Sendable {
    public enum Guard: String, Sendable {
        case stopIf = "stop_if"
        case message
        case canary
    }

    public var status: JobStatus
    public var stoppedBy: Guard
    /// When it was stopped, Unix milliseconds.
    public var stoppedMs: Int64
    /// After how many milliseconds it continues after its canary without an operator; nil if it does not.
    public var continuesMs: Int64?

    /// Whether it waits for an operator. A canary whose wait is over continues within seconds, unless no worker lives.
    public var needsOperator: Bool { stoppedBy != .canary || continuesMs == nil }

    /// What stopped it, with the figure, and how many recipients wait.
    public var text: String {
        "\(status.id) \(cause), \(Self.grouped(status.total - status.finished)) wait"
    }

    private var cause: String {
        let reason = status.reason ?? ""
        switch stoppedBy {
        case .stopIf: return "stopped itself: \(Self.figure(reason) ?? reason)"
        case .message: return "stopped itself: \(reason)"
        case .canary:
            let tried = status.canaryTried ?? status.finished
            let bad = status.failed + status.unknown
            guard bad > 0 else { return "has finished its canary: none of \(Self.grouped(tried)) failed" }
            let share = Share.text(bad, of: tried)
            return "has finished its canary: \(Self.grouped(bad)) of \(Self.grouped(tried)) failed, \(share)"
        }
    }

    /// `34.1 % UNREGISTERED` of `stop_if: unregistered 34.1% of 1000, more than 20%`; nil for another text.
    public static func figure(_ reason: String) -> String? {
        let words = reason.split(separator: " ")
        guard words.count > 2, words[0] == "stop_if:", words[2].hasSuffix("%") else { return nil }
        let measure = ["failed", "unknown"].contains(words[1]) ? String(words[1]) : words[1].uppercased()
        return "\(words[2].dropLast()) % \(measure)"
    }

    /// A number with separators: 28,880.
    static func grouped(_ number: Int64) -> String {
        let digits = Array(String(max(0, number)))
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && (digits.count - index).isMultiple(of: 3) ? [",", digit] : [digit]
            }
        )
    }
}

extension StoppedJob {
    init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let id = fields.text("id"), let job = fields["job"],
            let status = JobStatus(id: id, reply: job), let reason = status.reason
        else { return nil }
        self.status = status
        stoppedBy = reason == "canary" ? .canary : reason.hasPrefix("stop_if: ") ? .stopIf : .message
        stoppedMs = fields.count("stopped_ms")
        continuesMs = fields.number("continues_ms") == nil ? nil : fields.count("continues_ms")
    }
}
