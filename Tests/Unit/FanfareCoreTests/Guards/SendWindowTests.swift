import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct SendWindowTests {
    @Test(
        arguments: [
            ("09:00-21:00 Europe/Madrid", "09:00-21:00 Europe/Madrid", 540, 1_260, "Europe/Madrid"),
            ("21:30-06:05 UTC", "21:30-06:05 UTC", 1_290, 365, "UTC"),
            ("00:00-23:59 Etc/GMT+12", "00:00-23:59 Etc/GMT+12", 0, 1_439, "Etc/GMT+12"),
            ("09:00-24:00 Z", "09:00-00:00 Z", 540, 0, "Z"),
            ("09:00-00:00 Z", "09:00-00:00 Z", 540, 0, "Z"),
            (
                "23:59-00:00 America/Argentina/ComodRivadavia", "23:59-00:00 America/Argentina/ComodRivadavia", 1_439,
                0,
                "America/Argentina/ComodRivadavia"
            ),
        ] as [(String, String, Int64, Int64, String)]
    )
    func windowHasACanonicalText(text: String, canonical: String, opens: Int64, closes: Int64, zone: String) throws {
        let window = try SendWindow(Array(text.utf8))
        #expect(window.text == canonical)
        #expect((window.opensAt, window.closesAt) == (opens, closes))
        #expect(window.zone == zone)
        #expect(try SendWindow(Array(canonical.utf8)) == window)
    }

    private static func malformed(_ text: String) -> String {
        "send_window: \"\(text)\" is not a window such as 09:00-21:00 Europe/Madrid"
    }

    private static func noZone(_ text: String) -> String {
        "send_window: \"\(text)\" is not a time zone such as Europe/Madrid"
    }

    @Test(arguments: [
        ("", malformed("")),
        ("09:00-21:00", malformed("09:00-21:00")),
        ("09:00-21:00 ", malformed("09:00-21:00 ")),
        ("9:00-21:00 Europe/Madrid", malformed("9:00-21:00 Europe/Madrid")),
        ("09:00–21:00 Europe/Madrid", malformed("09:00–21:00 Europe/Madrid")),
        ("09.00-21.00 Europe/Madrid", malformed("09.00-21.00 Europe/Madrid")),
        ("-9:00-21:00 Europe/Madrid", malformed("-9:00-21:00 Europe/Madrid")),
        ("09:+0-21:00 Europe/Madrid", malformed("09:+0-21:00 Europe/Madrid")),
        ("09:00-21:00\tEurope/Madrid", malformed("09:00-21:00\\u{9}Europe/Madrid")),
        (" 09:00-21:00 Europe/Madrid", malformed(" 09:00-21:00 Europe/Madrid")),
        ("25:00-21:00 Z", "send_window: 25:00 is not 00:00 to 24:00"),
        ("09:00-24:01 Z", "send_window: 24:01 is not 00:00 to 24:00"),
        ("09:60-21:00 Z", "send_window: 09:60 is not 00:00 to 24:00"),
        ("24:00-21:00 Z", "send_window: 24:00 is not an opening time; write 00:00"),
        ("09:00-09:00 Z", "send_window: the two times are equal"),
        ("00:00-24:00 Z", "send_window: the two times are equal"),
        ("00:00-00:00 Z", "send_window: the two times are equal"),
        ("09:00-21:00  Europe/Madrid", noZone(" Europe/Madrid")),
        ("09:00-21:00 Europe/Madrid ", noZone("Europe/Madrid ")),
        ("09:00-21:00 ../../etc/passwd", noZone("../../etc/passwd")),
        ("09:00-21:00 Europe/..", noZone("Europe/..")),
        ("09:00-21:00 /etc/passwd", noZone("/etc/passwd")),
        ("09:00-21:00 Europe//Madrid", noZone("Europe//Madrid")),
        ("09:00-21:00 Europe/", noZone("Europe/")),
        ("09:00-21:00 zone.tab", noZone("zone.tab")),
        ("09:00-21:00 Europe\\Madrid", noZone("Europe\\Madrid")),
        ("09:00-21:00 Europe/Madríd", noZone("Europe/Madríd")),
        ("09:00-21:00 Europe\0", noZone("Europe\\u{0}")),
        ("09:00-21:00 " + String(repeating: "a", count: 65), "send_window: zone of 65 bytes, at most 64"),
    ])
    func otherTextIsRejected(text: String, reason: String) {
        #expect(fault { () throws(EntryFault) in try SendWindow(Array(text.utf8)) } == reason)
    }

    @Test func zoneOf64BytesIsRead() throws {
        let zone = String(repeating: "a", count: 64)
        #expect(try SendWindow(Array("09:00-21:00 \(zone)".utf8)).zone == zone)
    }

    @Test(arguments: 0..<2_000)
    func hostileTextNeverTraps(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var text = Array("09:00-21:00 Europe/Madrid".utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let at = Int.random(in: 0..<text.count, using: &random)
            text[at] = [0x30, 0x39, 0x2F, 0x2E, 0x20, 0xFF].randomElement(using: &random) ?? 0
            if Bool.random(using: &random) { text.remove(at: at) }
        }
        guard let window = try? SendWindow(text) else { return }
        #expect(!window.zone.contains("."))
        #expect((try? SendWindow(Array(window.text.utf8))) == window)
    }

    @Test func reasonNamesTheOpening() {
        #expect(SendWindow.reason(opening: 1_795_593_600_000) == "send_window: opens at 2026-11-25T08:00:00.000Z")
    }
}
