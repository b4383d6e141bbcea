public import StreamWire

extension SendWindow {
    /// The span in which the window is open now, or opens next.
    ///
    /// - Parameters:
    ///   - unixMs: now, Unix milliseconds.
    ///   - rules: of the window's zone.
    public func times(at unixMs: Int64, in rules: ZoneRules) -> WindowTimes {
        let opens = isOpen(at: unixMs, in: rules) ? unixMs : nextOpening(after: unixMs, in: rules)
        return WindowTimes(
            opensMs: opens,
            closesMs: nextClosing(after: opens, in: rules),
            reason: Self.reason(opening: opens)
        )
    }
}
