import Testing

@testable import FanfareCore

@Suite struct JobRateTests {
    @Test(arguments: [("1", 1), ("60000", 60_000), ("0060", 60), ("1000000000", 1_000_000_000)])
    func wholeNumberIsARate(text: String, perMinute: Int) throws {
        #expect(try JobRate(Array(text.utf8)).perMinute == perMinute)
    }

    @Test(arguments: [
        ("", "rate: \"\" is not a whole number"),
        ("-5", "rate: \"-5\" is not a whole number"),
        ("1.5", "rate: \"1.5\" is not a whole number"),
        ("6000/m", "rate: \"6000/m\" is not a whole number"),
        ("0", "rate: 0 is not 1 to 1000000000"),
        ("1000000001", "rate: 1000000001 is not 1 to 1000000000"),
        ("99999999999999999999", "rate: 99999999999999999999 is not 1 to 1000000000"),
    ])
    func otherValueIsRejected(text: String, reason: String) {
        #expect(fault { () throws(EntryFault) in try JobRate(Array(text.utf8)) } == reason)
    }
}
