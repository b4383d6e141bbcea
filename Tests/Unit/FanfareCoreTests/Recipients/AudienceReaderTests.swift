import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AudienceReaderTests {
    private static func read(
        _ form: AudienceReader.Form,
        _ text: String,
        piece: Int = .max >> 1
    ) throws(AudienceReader.Fault) -> (elements: [String], format: AudienceFormat?) {
        var reader = AudienceReader(form)
        var elements: [[UInt8]] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try reader.feed(Array(rest.prefix(piece)), into: &elements)
            rest = rest.dropFirst(piece)
        }
        try reader.finish(into: &elements)
        return (elements.map { String(decoding: $0, as: UTF8.self) }, reader.format)
    }

    @Test(arguments: [1, 3, 1_000])
    func linesOfNDJSONAreTokens(piece: Int) throws {
        let read = try Self.read(.ndjson, "\u{FEFF}\"a:1\"\r\n\n  \"b\" \nc-_.\n\"d\"", piece: piece)
        #expect(read.elements == ["a:1", "b", "c-_.", "d"] && read.format == .token)
    }

    @Test func tokensThatAreNoJSONNeedNoQuotes() throws {
        let lines = ["nullable", "12a", "012", "\"null\"", "\"12\""]
        let read = try Self.read(.ndjson, lines.joined(separator: "\n"))
        #expect(read.elements == ["nullable", "12a", "012", "null", "12"])
    }

    @Test(arguments: [1, 7, 1_000])
    func linesOfNDJSONAreRecipients(piece: Int) throws {
        let lines = [#"{"token":"a","vars":{"n":"x"}}"#, #"{"fid":"b"}"#, #"{"token":"c","variant":"es"}"#]
        let read = try Self.read(.ndjson, lines.joined(separator: "\n") + "\n", piece: piece)
        #expect(read.elements == lines && read.format == .json)
    }

    @Test(arguments: [1, 5, 1_000])
    func columnsOfCSVBecomeRecipients(piece: Int) throws {
        let text = "sep=;\r\ntoken;name\r\na;\"Ana\nMaria\"\r\n;;\r\nb;\r\n"
        let read = try Self.read(.csv, text, piece: piece)
        #expect(read.elements == [#"{"token":"a","vars":{"name":"Ana\nMaria"}}"#, #"{"token":"b"}"#])
        #expect(read.format == .json)
    }

    @Test func columnOfTokensAloneIsTokens() throws {
        let read = try Self.read(.csv, "token,\na\n\"b\"\n")
        #expect(read.elements == ["a", "b"] && read.format == .token)
        #expect(try Self.read(.csv, "fid\na").format == .json)
    }

    @Test(arguments: [
        (AudienceReader.Form.ndjson, "", 1, "no recipients"), (.ndjson, "\n\n", 2, "no recipients"),
        (.ndjson, "\"a\"\n\"b c\"\n", 2, "token: "), (.ndjson, "\"a\"\n[\"b\"]\n", 2, "a JSON array"),
        (.ndjson, "\"a\"\n\"\"\n", 2, "token: "), (.ndjson, "a\n\"b", 2, "token: "),
        (.ndjson, "a\nnull\n", 2, "a JSON literal"), (.ndjson, "true", 1, "a JSON literal"),
        (.ndjson, "false\n", 1, "a JSON literal"), (.ndjson, "a\n12\n", 2, "a JSON literal"),
        (.ndjson, " -1.5e3 \n", 1, "a JSON literal"),
        (.ndjson, "a\n\n{\"token\":\"b\"}", 3, "a token among recipients"),
        (.ndjson, "{\"token\":\"b\"}\na", 2, "a token among recipients"),
        (.ndjson, "{\"token\":\"a\"}\n{\"tokn\":\"b\"}\n", 2, "tokn"), (.ndjson, "{\"token\":\"a\"", 1, "not JSON"),
        (.ndjson, "{\"token\":\"a b\"}", 1, "token: "),
        (.ndjson, "{\"token\":\"a\",\"vars\":{\"1\":\"x\"}}", 1, "vars"),
        (.csv, "", 1, "no recipients"), (.csv, "token\n", 1, "no recipients"),
        (.csv, "name\nx\n", 1, "no column token"),
        (.csv, "token,name\na,b\nc,d,e\n", 3, "3 cells"), (.csv, "token\na\nb c\n", 3, "token: "),
        (.csv, "token,name\n\"a\n\n\",x\n", 2, "token: "), (.csv, "token,name\na,\"b\nc", 2, "the quote has no end"),
        (.csv, "token,name\na,b\"c\n", 2, "a quote within a cell"),
    ])
    func firstBrokenRuleIsNamedWithItsLine(form: AudienceReader.Form, text: String, line: Int, rule: String) throws {
        for piece in [1, 1_000] {
            let fault = try #require(throws: AudienceReader.Fault.self) { try Self.read(form, text, piece: piece) }
            #expect(fault.line == line && fault.rule.hasPrefix(rule), "\(fault)")
        }
    }

    @Test func lineWithoutAnEndIsNotKept() throws {
        var reader = AudienceReader(.ndjson)
        var elements: [[UInt8]] = []
        let fault = try #require(throws: AudienceReader.Fault.self) {
            for _ in 0..<100 { try reader.feed([UInt8](repeating: 65, count: 65_536), into: &elements) }
        }
        #expect(fault.rule.hasPrefix("longer than 262144 bytes"))
    }
}
