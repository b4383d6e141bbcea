import Testing

@testable import FanfareCore

@Suite struct CSVRecordTests {
    /// The first record of a text.
    private func record(_ text: String) -> CSVRecord {
        var lines = Array(text.utf8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        var record = CSVRecord(lines.removeFirst(), firstLine: 1)
        while record.isOpen, let line = lines.popFirst() { record.append(line) }
        return record
    }

    static let fine: [(text: String, cells: [String])] = [
        ("a,b", ["a", "b"]), ("a,b\r", ["a", "b"]), ("a", ["a"]), ("a,", ["a", ""]), (",", ["", ""]),
        (",\r", ["", ""]),
        ("\"a\",\"b\"", ["a", "b"]), ("\"a\",\"b\"\r", ["a", "b"]), ("\"a,b\",c", ["a,b", "c"]), ("\"\",x", ["", "x"]),
        ("\"a \"\"b\"\"\",c", ["a \"b\"", "c"]), ("\"\"\"\"", ["\""]), ("\"\"\"a\"", ["\"a"]),
        ("\"one\ntwo\",c\nnext", ["one\ntwo", "c"]), ("\"one\r\ntwo\r\n\",c\r\nnext", ["one\r\ntwo\r\n", "c"]),
        ("\"\n\n\"", ["\n\n"]), (" a , b ", [" a ", " b "]), ("é,𝄞", ["é", "𝄞"]), ("a\rb,c", ["a\rb", "c"]),
    ]

    @Test(arguments: fine)
    func cellsAreRead(text: String, cells: [String]) {
        let record = record(text)
        #expect(record.fault == nil && !record.isOpen)
        #expect((0..<record.count).map { record.text($0) } == cells)
        #expect((0..<record.count).map { record.isEmpty($0) } == cells.map(\.isEmpty))
    }

    @Test(arguments: [
        ("a,b\"c", 3, "a quote within a cell"), ("a, \"b\"", 3, "a quote within a cell"),
        ("\"a\"b,c", 3, "text after the closing quote"), ("x,\"a\" ,c", 5, "text after the closing quote"),
        ("\"a\nb\"c", 5, "text after the closing quote"),
    ])
    func brokenQuotesAreFaultsAtTheirByte(text: String, offset: Int, rule: String) {
        let fault = record(text).fault
        #expect(fault?.offset == offset && fault?.rule.hasPrefix(rule) == true, "\(String(describing: fault))")
    }

    @Test func openRecordIsAbandonedAtItsQuote() {
        var record = record("a,\"b\nc")
        #expect(record.isOpen)
        record.abandon("no end")
        #expect(!record.isOpen && record.isAbandoned && record.fault == CSVRecord.Fault(offset: 2, rule: "no end"))
    }

    @Test func cellOfOtherBytesThanUTF8HasNoText() {
        let record = CSVRecord([0x61, 0x2C, 0xFF, 0x2C, 0x22, 0x22, 0x22, 0xC3, 0x22], firstLine: 1)
        #expect(record.text(0) == "a" && record.text(1) == nil && record.text(2) == nil)
    }
}
