import Testing

@testable import FanfareCore

@Suite struct KeyTableTests {
    @Test func keyIsFoundByItsDigestWhereverItStands() throws {
        let table = KeyTable((0..<100).map { KeyTrial.key($0) })
        for number in [0, 1, 50, 99] { #expect(try table.find(KeyTrial.digest(number)).name == "key-\(number)") }
    }

    @Test func requestWithoutAKeyAndWithAWrongOneAreToldApart() {
        for table in [KeyTable(), KeyTable([KeyTrial.key(1)])] {
            #expect(throws: KeyFault.missing) { try table.find(nil) }
            #expect(throws: KeyFault.wrong) { try table.find(KeyTrial.digest(2)) }
        }
    }
}
