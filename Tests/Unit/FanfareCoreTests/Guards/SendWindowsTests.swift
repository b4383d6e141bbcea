import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

@Suite struct SendWindowsTests {
    private final class Zones {
        var reads: [String] = []

        func rules(of zone: String) throws(ZoneFault) -> ZoneRules {
            reads.append(zone)
            guard zone != "Nowhere/Land" else { throw ZoneFault("is not in the database") }
            return try ZoneRules(bytes: ZoneFile.madrid.bytes)
        }
    }

    private let zones = Zones()

    @Test func windowHasTheTimesOfItsZone() throws {
        var windows = SendWindows(rules: zones.rules)
        let now = try #require(Timestamp.milliseconds(rfc3339: "2026-11-24T22:00:00Z"))
        let times = try windows.times("09:00-21:00 Europe/Madrid", at: now)
        #expect(times.opensMs == now + 10 * 3_600_000 && times.closesMs == now + 22 * 3_600_000)
    }

    @Test func rulesOfAZoneAreReadOnce() throws {
        var windows = SendWindows(rules: zones.rules)
        for zone in ["Europe/Madrid", "Europe/Rome", "Europe/Madrid"] {
            _ = try windows.times("09:00-21:00 \(zone)", at: 0)
        }
        #expect(zones.reads == ["Europe/Madrid", "Europe/Rome"])
    }

    @Test func keptZonesAreBounded() throws {
        var windows = SendWindows(rules: zones.rules)
        for number in 0...SendWindows.maximumZones { _ = try windows.times("09:00-21:00 Zone/N\(number)", at: 0) }
        _ = try windows.times("09:00-21:00 Zone/N0", at: 0)
        #expect(zones.reads.last == "Zone/N0")
        _ = try windows.times("09:00-21:00 Zone/N\(SendWindows.maximumZones)", at: 0)
        #expect(zones.reads.count == SendWindows.maximumZones + 2)
    }

    @Test func unknownZoneIsAFaultOfTheField() throws {
        var windows = SendWindows(rules: zones.rules)
        let fault = EntryFault("send_window", "the zone Nowhere/Land is not in the database")
        for _ in 1...2 {
            #expect(throws: fault) { _ = try windows.times("09:00-21:00 Nowhere/Land", at: 0) }
        }
        #expect(zones.reads.count == 2, "a zone that was installed meanwhile is found")
    }
}
