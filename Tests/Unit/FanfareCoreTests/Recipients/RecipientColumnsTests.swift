import Testing

@testable import FanfareCore

@Suite struct RecipientColumnsTests {
    private func record(_ text: String) -> CSVRecord { CSVRecord(Array(text.utf8)[...], firstLine: 1) }

    private func element(_ header: String, _ row: String) throws -> String {
        let columns = try RecipientColumns(header: record(header))
        return String(decoding: try columns.element(of: record(row)), as: UTF8.self)
    }

    @Test(arguments: [
        ("token", "T", #"{"token":"T"}"#), ("fid,name", "F,Ana", #"{"fid":"F","vars":{"name":"Ana"}}"#),
        ("name,variant,token", "Ana,es,T", #"{"token":"T","variant":"es","vars":{"name":"Ana"}}"#),
        ("token,variant", "T,", #"{"token":"T"}"#), ("token,variant", "T,\"\"", #"{"token":"T"}"#),
        ("token,a,b", "T,,1", #"{"token":"T","vars":{"b":"1"}}"#),
        ("token,a", "T,\"x \"\"y\"\" \\ \t\"", #"{"token":"T","vars":{"a":"x \"y\" \\ \t"}}"#),
        ("\"token\",_a1", "T,é", #"{"token":"T","vars":{"_a1":"é"}}"#),
        ("token,a,,", "T,x,,", #"{"token":"T","vars":{"a":"x"}}"#),
        ("token,a,,", "T,x", #"{"token":"T","vars":{"a":"x"}}"#), ("token", "T,, ,\"\"", #"{"token":"T"}"#),
        ("token, ,a", "T,\"\",x", #"{"token":"T","vars":{"a":"x"}}"#),
    ])
    func rowBecomesARecipient(header: String, row: String, json: String) throws {
        #expect(try element(header, row) == json)
    }

    @Test(arguments: [
        ("name,item", 0, "no column token or fid"),
        ("token;name", 0, "the column \"token;name\"; separate columns by commas"),
        ("token,name,name", 11, "the column name is there twice"), ("token,fid", 6, "token and fid"),
        ("token,a,token", 8, "the column token is there twice"), ("token,variant,variant", 14, "the column variant"),
        ("token,first name", 6, "the column \"first name\""), ("token,1st", 6, "the column \"1st\""),
        (",", 0, "no column token or fid"), ("token, name", 6, "the column \" name\""),
        ("token,\"a", 0, ""), ("token,a\"b", 7, "a quote within a cell"),
    ])
    func headerMistakesAreRefusedAtTheirByte(header: String, offset: Int, rule: String) throws {
        var record = record(header)
        if record.isOpen { record.abandon("") }
        let fault = try #require(throws: CSVRecord.Fault.self) { _ = try RecipientColumns(header: record) }
        #expect(fault.rule.hasPrefix(rule), "\(fault)")
        #expect(record.isAbandoned || fault.offset == offset, "\(fault)")
    }

    @Test func valuesAreCounted() throws {
        let names = (0..<32).map { "v\($0)" }
        #expect(try element((["token"] + names).joined(separator: ","), "T" + String(repeating: ",", count: 32)) != "")
        let fault = try #require(throws: CSVRecord.Fault.self) {
            _ = try RecipientColumns(header: record((["token"] + names + ["more", "most"]).joined(separator: ",")))
        }
        #expect(
            fault.rule.hasPrefix("more than 32 values") && fault.offset == 6 + names.joined(separator: ",").count + 1
        )
    }

    @Test(arguments: [
        ("T", 0, "1 cell, the header has 2"), ("T,a,b", 4, "3 cells, the header has 2"), ("T,\"a\"b", 5, "text after"),
    ])
    func rowOfOtherCellsIsRefused(row: String, offset: Int, rule: String) throws {
        let fault = try #require(throws: CSVRecord.Fault.self) { _ = try element("token,a", row) }
        #expect(fault.offset == offset && fault.rule.hasPrefix(rule), "\(fault)")
    }

    @Test(arguments: [
        ("token,a,", "T,x,y", 4, "3 cells, the header has 2"),
        ("token,,a", "T,y,x", 2, "text in a column without a name"),
        ("token", "T,,y", 3, "3 cells, the header has 1"),
    ])
    func textOutsideNamedColumnsIsRefused(header: String, row: String, offset: Int, rule: String) throws {
        let fault = try #require(throws: CSVRecord.Fault.self) { _ = try element(header, row) }
        #expect(fault.offset == offset && fault.rule.hasPrefix(rule), "\(fault)")
    }
}
