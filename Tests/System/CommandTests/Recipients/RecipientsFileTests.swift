import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare send --recipients-file` against a real redis-server without a worker.
@Suite struct RecipientsFileTests {
    private let redis: RedisServer
    private let folder: TemporaryFolder

    init() throws {
        redis = try RedisServer()
        folder = try TemporaryFolder()
        _ = try folder.write("m.json", #"{"notification":{"title":"Hi {{name}}"},"data":{"k":"{{item|none}}"}}"#)
        _ = try folder.write("v.json", "{\n\"es\":{\"notification\":{\"title\":\"Hola {{nombre}}\"}}}")
    }

    private func send(_ arguments: [String], input: String = "") async throws -> CommandRun {
        try await CommandRun(
            ["send", "--project", "demo", "--redis", "unix://\(redis.socketPath)"] + arguments,
            input: input,
            folder: folder.path
        )
    }

    private func entry() throws -> [String] {
        let lines = try redis.cli("XRANGE", "fanfare:{demo}:jobs", "-", "+").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        return lines.dropFirst().filter { !$0.isEmpty }.map(String.init)
    }

    /// Runs a command that must push nothing, and returns its lines on standard error.
    private func refusal(_ file: String, _ more: [String] = [], input: String = "") async throws -> [String] {
        let run = try await send(["--recipients-file", file, "--message", "m.json"] + more, input: input)
        #expect(run.status == 64 && run.out.isEmpty, "\(run.out)\(run.err)")
        #expect(try redis.cli("KEYS", "*{demo}*").trimmingCharacters(in: .newlines).isEmpty)
        return run.err.split(separator: "\n").map(String.init)
    }

    /// An empty cell is no value: the placeholder's fallback counts.
    @Test func rowsOfCSVArePushedInline() async throws {
        let text = "\u{FEFF}token,variant,name,nombre\r\nT1,,\"O'Hara, \"\"A\"\"\",\r\n\r\nT2,es-MX,,\"l1\nl2\"\r\n"
        _ = try folder.write("r.csv", text)
        let run = try await send([
            "--recipients-file", "r.csv", "--variants", "v.json", "--message", "m.json", "--id", "c",
        ])
        #expect(run.status == 0 && run.out == "c\n", "\(run.err)")
        let expected =
            #"[{"token":"T1","vars":{"name":"O'Hara, \"A\""}},"#
            + #"{"token":"T2","variant":"es-MX","vars":{"nombre":"l1\nl2"}}]"#
        let entry = try entry()
        #expect(Array(entry.prefix(2)) == ["recipients", expected], "\(entry)")
        #expect(entry.contains("variants") && !entry.contains("audience_format"))
    }

    /// Spreadsheets write rows and columns of empty cells, and name the separator in the first line.
    @Test(arguments: ["sep=,\r\n", "\u{FEFF}\"SEP=,\"\r\n,,,,\r\n", ""])
    func cellsWithoutTextAroundTheTableAreIgnored(start: String) async throws {
        let text = start + "token,name,item,,\r\n,,,,\r\nT1,Ana,x,,\r\nT2,Bob,\r\n, ,\"\",,\r\n,,\r\n"
        let run = try await send(["--recipients-file", "-", "--message", "m.json"], input: text)
        #expect(run.status == 0, "\(run.err)")
        let expected = #"[{"token":"T1","vars":{"name":"Ana","item":"x"}},{"token":"T2","vars":{"name":"Bob"}}]"#
        #expect(try entry().prefix(2) == ["recipients", expected])
    }

    /// Excel separates by semicolons where a comma is the decimal sign.
    @Test(arguments: [("sep=;\r\n", ";"), ("\"sep=;\"\r\n", ";"), ("sep=\t\r\n", "\t")])
    func separatorOfTheFirstLineIsUsed(start: String, separator: String) async throws {
        let rows = ["token,name,item,", ",,,", "T1,\"O,\"\"H\",x,", ",,,"].map { $0 + "\r\n" }.joined()
        let text = start + rows.replacing(",", with: separator).replacing("\"O\(separator)", with: "\"O,")
        let run = try await send(["--recipients-file", "-", "--message", "m.json"], input: text)
        #expect(run.status == 0, "\(run.err)")
        #expect(try entry().prefix(2) == ["recipients", #"[{"token":"T1","vars":{"name":"O,\"H","item":"x"}}]"#])
    }

    /// A sheet with one column of tokens, beside and below which a spreadsheet writes empty cells.
    @Test(arguments: ["sep=,\r\n", "sep=;\n", "\u{FEFF}SEP=,\r\n", ""])
    func emptyCellsBesideTokensAreSkipped(start: String) async throws {
        let text = start + ",,\r\nT1,,\r\n;T2;\r\n\tT3\r\n\r\n,, ,\r\n"
        _ = try folder.write("plain.json", #"{"notification":{"title":"Hi"}}"#)
        let fine = try await send(["--tokens-file", "-", "--message", "plain.json"], input: text)
        #expect(fine.status == 0, "\(fine.err)")
        #expect(try entry().prefix(2) == ["tokens", #"["T1","T2","T3"]"#])
        let two = try await send(["--tokens-file", "-", "--message", "plain.json"], input: "T1,T2\n")
        #expect(two.status == 64 && two.err.hasPrefix("standard input:1: byte 2 is not one of"), "\(two.err)")
    }

    @Test(arguments: ["token\n", "sep=;\r\n;;\r\n\"token\";\r\n", "\u{FEFF}token,\r\n"])
    func headerOfTheOnlyColumnIsNoToken(start: String) async throws {
        _ = try folder.write("plain.json", #"{"notification":{"title":"Hi"}}"#)
        let run = try await send(["--tokens-file", "-", "--message", "plain.json"], input: start + "T1\r\ntoken\r\n")
        #expect(run.status == 0, "\(run.err)")
        #expect(try entry().prefix(2) == ["tokens", #"["T1","token"]"#], "only the first line is a header")
        let rows = (0...100_000).map { "T\($0)\r\n" }.joined()
        _ = try folder.write("t.csv", start + rows)
        let long = try await send(["--tokens-file", "t.csv", "--message", "plain.json"])
        #expect(long.status == 0 && long.err.contains("100001 tokens"), "\(long.err)")
    }

    /// The header of a long file is read twice.
    @Test func longSpreadsheetIsPushedAsAList() async throws {
        let rows = (0...100_000).map { "T\($0),a\r\n" }.joined()
        _ = try folder.write("r.csv", "sep=,\r\n,\r\ntoken,name\r\n" + rows + ",\r\n")
        let run = try await send(["--recipients-file", "r.csv", "--message", "m.json"])
        #expect(run.status == 0 && run.err.contains("100001 recipients"), "\(run.err)")
        let entry = try entry()
        #expect(entry.first == "audience", "\(entry)")
        #expect(try redis.cli("LINDEX", entry[1], "0").hasPrefix(#"{"token":"T0","vars":{"name":"a"}}"#))
    }

    @Test func linesOfNDJSONArePushedAsTheyAre() async throws {
        let text = "\n  {\"token\":\"T1\", \"vars\":{\"name\":1}}\r\n\n{\"fid\":\"F\",\"vars\":{\"name\":\"é\"}}"
        let run = try await send(["--recipients-file", "-", "--message", "m.json"], input: text)
        #expect(run.status == 0, "\(run.err)")
        let expected = #"[{"token":"T1", "vars":{"name":1}},{"fid":"F","vars":{"name":"é"}}]"#
        #expect(try entry().prefix(2) == ["recipients", expected])
    }

    @Test func guardsAreFieldsOfTheEntry() async throws {
        _ = try folder.write("r.csv", "token,name\nT1,a\n")
        let run = try await send([
            "--recipients-file", "r.csv", "--message", "m.json", "--rate", "600", "--canary", "1%", "--canary-wait",
            "90",
            "--stop-if", "failed>5%;unknown>1%", "--send-window", "09:00-21:00 Europe/Madrid",
        ])
        #expect(run.status == 0, "\(run.err)")
        #expect(
            try entry().dropFirst(4) == [
                "rate", "600", "canary", "1%", "canary_wait_ms", "90000", "stop_if", "failed>5%;unknown>1%",
                "send_window",
                "09:00-21:00 Europe/Madrid",
            ]
        )
    }

    @Test(arguments: [
        (["--rate", "0"], "fanfare: rate: 0 is not 1 to"),
        (["--canary", "x"], "fanfare: canary: \"x\" is not a number"),
        (["--canary-wait", "5"], "fanfare: canary_wait_ms: only with canary"),
        (["--stop-if", "x>1%"], "fanfare: stop_if: \"x\" is not one of"),
        (["--send-window", "9-21"], "fanfare: send_window: \"9-21\" is not a window such as"),
        (
            ["--send-window", "09:00-21:00 Europe/Madird"],
            "fanfare: send_window: the zone Europe/Madird is not in /usr/share/zoneinfo: correct its name, or install tzdata; the machines of the workers need"
        ),
    ])
    func brokenGuardIsReported(arguments: [String], start: String) async throws {
        _ = try folder.write("r.csv", "token,name\nT1,a\n")
        let lines = try await refusal("r.csv", arguments)
        #expect(lines.first?.hasPrefix(start) == true, "\(lines)")
    }

    @Test(arguments: [
        ("", "fanfare: standard input: no recipients"), ("token,name\n", "fanfare: standard input: no recipients"),
        ("\n name,item\nx", "fanfare: standard input:2:1: the column \" name\""),
        ("token,é,a b\n", "fanfare: standard input:1:7: the column \"é\""),
        ("token,\"x\ny\",name,name", "fanfare: standard input:1:7: the column \"x\\u{a}y\""),
        ("name,item\na,b\n", "fanfare: standard input:1:1: no column token or fid"),
        ("sep=,\n", "fanfare: standard input: no recipients"), (",,\n,\n", "fanfare: standard input: no recipients"),
        ("sep=;\n;;\ntoken;name\n", "fanfare: standard input: no recipients"),
        ("sep=;\ntoken,name\n", "fanfare: standard input:2:1: the column \"token,name\""),
        ("token;name\n", "fanfare: standard input:1:1: the column \"token;name\"; separate columns by commas"),
        ("sep=,\ntoken,,name\nT,x,a\n", "standard input:3:3: text in a column without a name"),
        ("[{\"token\":\"T\"}]", "fanfare: standard input:1: a JSON array; write one recipient per line"),
        ("token,name\nT,\"a\nU,b\n", "standard input:2:3: the quote has no end before the file ends"),
        ("token,name\nT\nU,a\n", "standard input:2:1: 1 cell, the header has 2"),
        ("token,name\nT,a,b\n", "standard input:2:5: 3 cells, the header has 2"),
        ("name,token\n\"é\",bad token\n", "standard input:2:5: token: byte 3 is not one of"),
        ("token,x\nT,y\n", "standard input:2:1: vars.name: missing; the header has no column name"),
        (
            "token,name\nT,\"\n\(String(repeating: "x", count: 1_024))\"\n",
            "standard input:2:3: vars.name: 1025 bytes, at most 1024"
        ),
        ("token,name,\(String(repeating: "x", count: 70_000))\n", "fanfare: standard input:1:12: the column \"xxx"),
        ("{\"token\":\"T\"}\n", "standard input:1:1: vars.name: missing"),
        ("{\"token\":\"T\",\"vars\":{\"name\":\"a\"}}\n{\"token\" \"T\"}", "standard input:2:10: not JSON at byte 9"),
        ("{\"token\":\"T\"}\n", "standard input:1:1: vars.name: missing"),
        ("  {\"vars\":{\"name\":[]},\"token\":\"T\"}", "standard input:1:12: vars.name: must be a string"),
        ("{\"token\":\"T T\"}", "standard input:1:2: token: byte 1 is not one of"),
        ("{\"token\":\"T\",\"name\":\"a\"}", "standard input:1:14: name: unknown field"),
        ("{\"vars\":{}}", "standard input:1:1: needs a token or a fid"),
        ("{\"token\":\"T\"}\nnonsense\n", "standard input:1:1: vars.name: missing"),
        (
            "{\"token\":\"T\"," + String(repeating: " ", count: 300_000),
            "fanfare: --recipients-file: line 1 is longer than"
        ),
    ])
    func brokenRowIsReportedWithLineAndColumn(text: String, start: String) async throws {
        let lines = try await refusal("-", input: text)
        #expect(lines.first?.hasPrefix(start) == true, "\(lines)")
    }

    @Test func brokenRowsAreCountedAndTheFirstAreListed() async throws {
        let rows = (1...40).map { $0.isMultiple(of: 3) ? "bad \($0),x" : "good-\($0),x" }
        _ = try folder.write("r.csv", "token,name\n" + rows.joined(separator: "\n"))
        let lines = try await refusal("r.csv")
        #expect(lines.count == 12 && lines[0] == "r.csv:4:1: token: byte 3 is not one of A-Z a-z 0-9 _ : . -")
        #expect(lines[10] == "and 3 more")
        #expect(lines[11].hasPrefix("fanfare: --recipients-file: 13 rows break a rule, so nothing was pushed; correct"))
    }

    @Test func messageThatIsTooLargeIsAFaultOfItsRow() async throws {
        _ = try folder.write("m.json", "{\"data\":{\"k\":\"\(String(repeating: "x", count: 4_000)){{name}}\"}}")
        let long = String(repeating: "y", count: 100)
        _ = try folder.write("r.csv", "token,name\nT,a\nU,\(long)\n")
        #expect(try await refusal("r.csv").first == "r.csv:3:1: message: 4101 bytes, at most 4096")
    }

    @Test func faultOfTheMessageOrAVariantIsPlacedInItsFile() async throws {
        _ = try folder.write("r.csv", "token,name\nT,a\n")
        _ = try folder.write("v.json", "{\n\"es\":{\n\"notification\":{\"title\":\"{{}}\"}}}")
        let lines = try await refusal("r.csv", ["--variants", "v.json"])
        #expect(lines.first?.hasPrefix("v.json:3: variants.es.notification.title: the placeholder at byte 0") == true)
        _ = try folder.write("v.json", "{\n\"es\"}")
        #expect(
            try await refusal("r.csv", ["--variants", "v.json"]).first?.hasPrefix("v.json:2:5: variants: not J") == true
        )
        _ = try folder.write("m.json", "{\n\"android\":{\"ttl\":\"{{name}}\"}}")
        let message = try await refusal("r.csv")
        #expect(message.first?.hasPrefix("m.json:2: message.android.ttl: a placeholder is not") == true, "\(message)")
    }

    @Test func noCheckPushesRowsThatWouldFail() async throws {
        _ = try folder.write("r.csv", "token,x\nT T,y\n")
        let run = try await send(["--recipients-file", "r.csv", "--message", "m.json", "--no-check"])
        #expect(run.status == 0, "\(run.err)")
        #expect(try entry()[1] == #"[{"token":"T T","vars":{"x":"y"}}]"#)
    }

    @Test func longFileIsWrittenToAList() async throws {
        let count = RecipientsFile.inlineLimit + 2_501
        _ = try folder.write("r.csv", "name,token\n" + (0..<count).map { "n\($0),t\($0)\n" }.joined())
        let run = try await send(["--recipients-file", "r.csv", "--message", "m.json"])
        #expect(run.status == 0, "\(run.err)")
        let entry = try entry()
        let key = entry[1]
        #expect(entry[0] == "audience" && key.hasPrefix("audience:{demo}:") && run.err.contains(key))
        #expect(Array(entry.suffix(2)) == ["audience_format", "json"])
        #expect(try redis.cli("LLEN", key) == "\(count)")
        #expect(try redis.cli("LINDEX", key, "100000") == #"{"token":"t100000","vars":{"name":"n100000"}}"#)
        #expect(try redis.cli("LINDEX", key, "-1") == #"{"token":"t\#(count - 1)","vars":{"name":"n\#(count - 1)"}}"#)
        #expect((604_000...604_800).contains(try #require(Int(try redis.cli("TTL", key)))))
    }

    @Test func brokenRowOfALongFilePushesNothing() async throws {
        let limit = RecipientsFile.inlineLimit
        let text = "token,name\n" + (0..<limit + 5_000).map { "t\($0),n\n" }.joined() + "b d,n\n"
        _ = try folder.write("r.csv", text)
        let place = ":\(limit + 5_002):1: token: byte 1 is not one of A-Z a-z 0-9 _ : . -"
        #expect(try await refusal("r.csv").first == "r.csv\(place)")
        // A pipe can be read only once: its list is written, and deleted again.
        let piped = try await refusal("-", input: text)
        #expect(piped.contains("standard input\(place)"), "\(piped)")
    }
}
