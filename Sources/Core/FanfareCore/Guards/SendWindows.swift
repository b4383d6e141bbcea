public import StreamWire

/// Computes when send windows open and close.
public struct SendWindows {
    /// Zones whose rules are kept.
    static let maximumZones = 1_000

    private let readRules: (_ zone: String) throws(ZoneFault) -> ZoneRules
    private var zones: [String: ZoneRules] = [:]

    /// - Parameter rules: reads the rules of a zone that `SendWindow` has named; called once for each zone, until
    ///   ``maximumZones`` are kept.
    public init(rules: @escaping (_ zone: String) throws(ZoneFault) -> ZoneRules) { readRules = rules }

    /// - Parameters:
    ///   - window: a job's `send_window`, as intake accepted it.
    ///   - unixMs: now, Unix milliseconds.
    /// - Throws: for a zone that this machine does not know.
    public mutating func times(_ window: String, at unixMs: Int64) throws(EntryFault) -> WindowTimes {
        let window = try SendWindow(Array(window.utf8))
        return window.times(at: unixMs, in: try rules(of: window.zone))
    }

    private mutating func rules(of zone: String) throws(EntryFault) -> ZoneRules {
        if let known = zones[zone] { return known }
        let rules: ZoneRules
        do throws(ZoneFault) { rules = try readRules(zone) } catch {
            throw EntryFault("send_window", "the zone \(zone) \(error.reason)")
        }
        if zones.count >= Self.maximumZones { zones = [:] }
        zones[zone] = rules
        return rules
    }
}
