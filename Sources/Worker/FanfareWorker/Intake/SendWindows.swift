internal import FanfareConfiguration
public import FanfareCore
public import StreamWire

/// Computes when send windows open and close, by the machine's time zone database.
public struct SendWindows {
    /// Zones whose rules are kept.
    private static let most = 1_000

    private var zones: [String: ZoneRules] = [:]

    public init() {}

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
        do throws(FileReader.Failure) {
            let bytes = try ZoneFiles.read(zone)
            do throws(ZoneFault) { rules = try ZoneRules(bytes: bytes) } catch {
                throw FileReader.Failure(reason: "cannot be used: \(error.reason)")
            }
        } catch {
            throw EntryFault("send_window", "the zone \(zone) \(error.reason)")
        }
        if zones.count >= Self.most { zones = [:] }
        zones[zone] = rules
        return rules
    }
}
