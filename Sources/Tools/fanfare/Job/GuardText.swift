internal import FanfareClient
internal import FanfareModel

/// The guards of a job as text.
enum GuardText {
    /// The rows that `job show` prints.
    static func rows(_ status: JobStatus) -> [(String, String)] {
        let guards = status.guards
        var rows: [(String, String)] = []
        if status.isPersonal { rows.append(("personal", "a message for each recipient")) }
        if let rate = guards.ratePerMinute { rows.append(("rate limit", "\(rate) a minute")) }
        if let canary = guards.canary {
            let wait = guards.canaryWaitMs.map { "a pause of \(PaceText.duration(Double($0) / 1_000))" }
            rows.append(("canary", "\(canary), then \(wait ?? "a pause until `fanfare job resume`")"))
        }
        if let conditions = guards.stopIf { rows.append(("stop if", conditions)) }
        if let window = guards.sendWindow { rows.append(("send window", window)) }
        return rows
    }

    /// A cell of a table, such as `personal, 6000 a minute, canary 1%`; empty without guards.
    static func short(_ status: JobStatus) -> String {
        let guards = status.guards
        let parts = [
            status.isPersonal ? "personal" : nil, guards.ratePerMinute.map { "\($0) a minute" },
            guards.canary.map { "canary \($0)" }, guards.stopIf.map { "stop if \($0)" }, guards.sendWindow,
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}
