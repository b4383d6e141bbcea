import FanfareCore
import Testing

@Suite struct EntryIDTests {
    @Test(arguments: [("9-5", "10-0"), ("7-9", "7-10"), ("0", "1-0"), ("x", "0-1"), ("7", "7-1")])
    func idsAreOrderedByTheirNumbers(earlier: String, later: String) {
        #expect(EntryID(earlier) < EntryID(later) && !(EntryID(later) < EntryID(earlier)))
    }

    @Test(arguments: [("7-9", "7-9"), ("x", "0-0"), ("5", "5-0")])
    func idsOfTheSameNumbersAreEqual(one: String, other: String) {
        #expect(EntryID(one) == EntryID(other) && !(EntryID(one) < EntryID(other)))
    }
}
