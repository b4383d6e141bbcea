internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel

/// Finds the instant of a local time in each zone, by the machine's time zone database.
///
/// A time that the clock skips has the moment of the skip, and one that it repeats the first of its moments, as in a
/// `send_window`.
struct ZoneInstants {
    /// More instants than all zones of the world have at a time.
    static let most = 40

    let time: LocalTime
    /// The column of CSV, or the member of NDJSON, that names the zone.
    let column: String
    /// The known zones; each is read once.
    private var instants: [String: Int64] = [:]

    init(_ time: LocalTime, column: String) { (self.time, self.column) = (time, column) }

    /// Unix milliseconds.
    /// - Throws: the broken rule, with its remedy.
    mutating func instantMs(in zone: String) throws(EntryFault) -> Int64 {
        if let known = instants[zone] { return known }
        let rules: ZoneRules
        do throws(ZoneFault) { rules = try ZoneFiles.rules(of: try name(zone)) } catch {
            throw EntryFault(column, "the zone \(Excerpt.plain(zone)) \(error.reason)")
        }
        let instant = rules.firstMoment(ofLocal: time.milliseconds / 1_000) * 1_000
        instants[zone] = instant
        return instant
    }

    private func name(_ zone: String) throws(ZoneFault) -> String {
        do throws(EntryFault) { return try SendWindow.zoneName(Array(zone.utf8)[...]) } catch {
            throw ZoneFault("is no name such as Europe/Madrid")
        }
    }
}
