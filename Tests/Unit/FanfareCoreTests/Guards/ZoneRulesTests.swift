import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct ZoneRulesTests {
    private static func reason(_ bytes: [UInt8]) -> String? {
        do throws(ZoneFault) {
            _ = try ZoneRules(bytes: bytes)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: ["2", "3", "4"] as [Character])
    func laterVersionsUseTheSecondBlockAndTheFooter(version: Character) throws {
        let file = ZoneFile(
            version: version,
            transitions: [(-10_000_000_000, 1), (1_000, 2), (2_000, 1)],
            offsets: [-884, 0, 3_600],
            footer: "CET-1CEST,M3.5.0,M10.5.0/3"
        )
        let rules = try ZoneRules(bytes: file.bytes)
        #expect(rules.offsetSeconds(at: .min) == -884)
        #expect(rules.offsetSeconds(at: -10_000_000_001) == -884)
        #expect(rules.offsetSeconds(at: -10_000_000_000) == 0)
        #expect(rules.offsetSeconds(at: 999) == 0)
        #expect(rules.offsetSeconds(at: 1_000) == 3_600)
        #expect(rules.offsetSeconds(at: 1_999) == 3_600)
        // From the last transition on, the footer counts: January in Central Europe.
        #expect(rules.offsetSeconds(at: 2_000) == 3_600)
        #expect(rules.offsetSeconds(at: 1_782_864_000) == 7_200)
        #expect([3_600, 7_200].contains(rules.offsetSeconds(at: .max)))
    }

    @Test func firstVersionHasOneBlockOf32BitTimes() throws {
        let rules = try ZoneRules(
            bytes: ZoneFile(version: "\0", transitions: [(-5, 1), (7, 0)], offsets: [-3_600, 1_800]).bytes
        )
        #expect([-6, -5, 6, 7, .max].map { rules.offsetSeconds(at: $0) } == [-3_600, 1_800, 1_800, -3_600, -3_600])
    }

    @Test func lastOffsetStaysWithoutAFooter() throws {
        let rules = try ZoneRules(bytes: ZoneFile(transitions: [(0, 1)], offsets: [0, 3_600]).bytes)
        #expect([-1, 0, 4_102_444_800, .max].map { rules.offsetSeconds(at: $0) } == [0, 3_600, 3_600, 3_600])
    }

    @Test func footerCountsAlwaysWithoutTransitions() throws {
        let rules = try ZoneRules(bytes: ZoneFile(offsets: [0], footer: "ABC-2").bytes)
        #expect([Int64.min, 0, .max].map { rules.offsetSeconds(at: $0) } == [7_200, 7_200, 7_200])
        let fixed = try ZoneRules(bytes: ZoneFile(offsets: [-1_800]).bytes)
        #expect([Int64.min, 0, .max].map { fixed.offsetSeconds(at: $0) } == [-1_800, -1_800, -1_800])
    }

    @Test(arguments: [
        (ZoneFile(version: "1"), "unknown version, byte 49"),
        (ZoneFile(version: "5"), "unknown version, byte 53"),
        (ZoneFile(offsets: []), "0 types, at most 256"),
        (ZoneFile(offsets: [Int32](repeating: 0, count: 257)), "257 types, at most 256"),
        (ZoneFile(offsets: [0, 93_600]), "offset 93600 of type 1"),
        (ZoneFile(offsets: [-90_000]), "offset -90000 of type 0"),
        (ZoneFile(transitions: [(0, 1)]), "transition 0 has unknown type 1"),
        (ZoneFile(transitions: [(0, 0), (0, 0)]), "transition 1 is not in order"),
        (ZoneFile(transitions: [(5, 0), (4, 0)]), "transition 1 is not in order"),
        (ZoneFile(footer: "Europe/Madrid"), "the footer is not a rule: \"Europe/Madrid\""),
        (ZoneFile(leapSeconds: 1), "leap seconds"),
    ])
    func brokenFileIsRefused(file: ZoneFile, reason: String) {
        #expect(Self.reason(file.bytes) == reason)
    }

    @Test(arguments: [([], "the header is cut off"), ([UInt8](repeating: 0, count: 60), "not a TZif file")])
    func otherFileIsRefused(bytes: [UInt8], reason: String) {
        #expect(Self.reason(bytes) == reason)
    }

    @Test func differentVersionsOfTheHeadersAreRefused() {
        var bytes = ZoneFile.madrid.bytes
        bytes[4] = UInt8(ascii: "3")
        #expect(Self.reason(bytes) == "the two headers have different versions")
    }

    @Test func largestFileIsRead() throws {
        let bytes = ZoneFile.madrid.bytes
        #expect(Self.reason(bytes + [UInt8](repeating: 0, count: 16_384 - bytes.count)) == nil)
        let reason = Self.reason(bytes + [UInt8](repeating: 0, count: 16_385 - bytes.count))
        #expect(reason == "16385 bytes, at most 16384")
    }

    @Test func everyTruncatedFileIsRefused() throws {
        let file = ZoneFile(transitions: [(0, 1), (9, 0)], offsets: [0, 3_600], footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        let bytes = file.bytes
        #expect(Self.reason(bytes) == nil)
        for count in 0..<bytes.count { #expect(Self.reason(Array(bytes[..<count])) != nil) }
    }

    /// Whatever the bytes, reading ends and every question has an answer.
    @Test(arguments: 0..<3_000)
    func mutatedFileNeverTraps(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let times = (0..<8).map { _ in Int64.random(in: -3_000_000_000...4_000_000_000, using: &random) }
        var bytes = ZoneFile(
            version: ["\0", "2", "3", "4"].randomElement(using: &random) ?? "2",
            transitions: Set(times).sorted().map { ($0, UInt8.random(in: 0...2, using: &random)) },
            offsets: [-12_345, 3_600, 7_200],
            footer: "CET-1CEST,M3.5.0,M10.5.0/3"
        ).bytes
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let at = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.insert(0xFF, at: at)
            default: bytes[at] = [0, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            }
        }
        guard let rules = try? ZoneRules(bytes: bytes) else { return }
        let window = try? SendWindow(Array("21:30-02:15 Europe/Madrid".utf8))
        for time in times + [.min, .max, 0] {
            #expect(ZoneRules.offsetRange.contains(Int64(rules.offsetSeconds(at: time))))
            let moment = rules.firstMoment(ofLocal: time)
            #expect(rules.firstMoment(ofLocal: time.adding(1)) >= moment)
            guard let window else { continue }
            let ms = time.multipliedReportingOverflow(by: 1_000).partialValue
            _ = window.isOpen(at: ms, in: rules)
            #expect(window.nextOpening(after: ms, in: rules) > min(ms, GeneralFields.latestTime))
            #expect(window.nextClosing(after: ms, in: rules) > min(ms, GeneralFields.latestTime))
        }
    }

    @Test(arguments: [
        // The hour from 02:00 to 03:00 on March 29 is skipped: all of it has the moment of the skip.
        ("2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"), ("2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z"),
        ("2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"), ("2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"),
        ("2026-03-29T03:00:01Z", "2026-03-29T01:00:01Z"),
        // The hour from 02:00 to 03:00 on October 25 comes twice: the first time counts.
        ("2026-10-25T02:00:00Z", "2026-10-25T00:00:00Z"), ("2026-10-25T02:59:59Z", "2026-10-25T00:59:59Z"),
        ("2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"),
    ])
    func localTimeHasItsFirstMoment(local: String, moment: String) throws {
        let rules = try ZoneRules(bytes: ZoneFile.madrid.bytes)
        let seconds = try #require(Timestamp.milliseconds(rfc3339: local)) / 1_000
        #expect(rules.firstMoment(ofLocal: seconds) * 1_000 == Timestamp.milliseconds(rfc3339: moment))
    }
}
