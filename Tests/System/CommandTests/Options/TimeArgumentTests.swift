import Testing

@testable import fanfare

@Suite struct TimeArgumentTests {
    @Test(arguments: [
        ("2026-03-01T08:00:00Z", TimeArgument.at(milliseconds: 1_772_352_000_000)),
        ("2026-03-01T09:00:00+01:00", .at(milliseconds: 1_772_352_000_000)),
        ("2026-03-01T08:00:00.250Z", .at(milliseconds: 1_772_352_000_250)),
        ("2028-02-29T00:00:00-03:30", .at(milliseconds: 1_835_407_800_000)),
        ("1772352000000", .at(milliseconds: 1_772_352_000_000)),
        ("+0s", .after(milliseconds: 0)),
        ("+90s", .after(milliseconds: 90_000)),
        ("+5m", .after(milliseconds: 300_000)),
        ("+2h", .after(milliseconds: 7_200_000)),
        ("+1d", .after(milliseconds: 86_400_000)),
    ])
    func validFormsAreParsed(text: String, expected: TimeArgument) {
        #expect(TimeArgument(text) == expected)
    }

    @Test(arguments: [
        "", "+", "+5", "5m", "-5m", "+-5m", "++5m", "+5w", "+m", "+99999999999999999999s", "+9223372036854775807d",
        "1772352000", "0", "99999999999999999999", "2026-03-01", "2026-03-01T08:00:00", "2026-13-01T08:00:00Z", "soon",
        "1950-01-01T00:00:00Z", " 1772352000000", "+1772352000000", "2027-02-29T00:00:00Z", "2027-04-31T09:00:00Z",
        "2027-01-01T24:00:00Z", "2027-01-01T23:60:00Z", "2027-01-01T23:59:60Z", "2027-01-01T09:00:00+01:99",
        "2027-01-01T09:00:00+0199", "2027-01-01T09:00:00Zulu", "2027-01-01T09:00:00Z trailing", "2027-1-1T9:00:00Z",
        "2027-01-01t09:00:00z", "12027-01-01T09:00:00Z", "2028-02-29T00:00:00-0330", "2027-01-01T25:00:00Z",
        "2027-02-30T09:00:00Z", "2027-01-01 09:00:00Z", "2027-01-01T09:00:00.1234567890Z", "1772352000000 ",
    ])
    func invalidFormsAreRefused(text: String) {
        #expect(TimeArgument(text) == nil)
    }

    @Test(
        arguments: ["--at", "--expires-at"],
        [
            ("1790000000", "; seconds? multiply by 1000"), ("1790000000000000", "; microseconds? divide by 1000"),
            ("2026-02-30T09:00:00Z", "+1d\n"),
        ]
    )
    func timeInAnotherUnitIsAUsageErrorWithItsRemedy(option: String, row: (text: String, end: String)) async throws {
        let run = try await CommandRun(["send", "--project", "p", "--token", "a", "--title", "x", option, row.text])
        #expect(run.status == 64)
        #expect(run.err.contains("must be a time with its zone") && run.err.contains(row.end), "\(run.err)")
    }

    @Test func delayIsAddedToTheGivenTime() {
        #expect(TimeArgument("+5m")?.milliseconds(nowMs: 1_000) == 301_000)
        #expect(TimeArgument("1772352000000")?.milliseconds(nowMs: 1_000) == 1_772_352_000_000)
    }
}
