/// Formats rates and durations.
enum PaceText {
    static func rate(_ perSecond: Double) -> String {
        guard perSecond.isFinite, perSecond < 1e12 else { return "-" }
        if perSecond >= 10 { return "\(Int(perSecond.rounded()))/s" }
        let tenths = Int((perSecond * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)/s"
    }

    /// A rate without its unit, for a column whose title names it.
    static func number(_ perSecond: Double) -> String { rate(perSecond).replacing("/s", with: "") }

    /// A measured time, such as `300 ms`, `1.2 s` or `12 s`.
    static func span(milliseconds: Int64) -> String {
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        if milliseconds < 10_000 { return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s" }
        return duration(Double(milliseconds) / 1_000)
    }

    /// Such as `12 s`, `3 min 20 s`, `2 h 5 min` or `4 d`: at most two units, since durations are estimates.
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, (0..<1e10).contains(seconds) else { return "-" }
        let whole = Int(seconds.rounded(.up))
        let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { whole >= $0.0 }) else { return "0 s" }
        var text = "\(whole / units[first].0) \(units[first].1)"
        if first + 1 < units.count {
            let rest = whole % units[first].0 / units[first + 1].0
            if rest > 0 { text += " \(rest) \(units[first + 1].1)" }
        }
        return text
    }
}
