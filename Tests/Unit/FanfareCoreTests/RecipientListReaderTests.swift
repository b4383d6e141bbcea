import FanfareCore
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

@Suite struct RecipientListReaderTests {
    static func read(_ text: String, over transport: Transport = .v1) throws(EntryFault) -> RecipientList {
        try RecipientListReader(transport.traits()).read(Array(text.utf8))
    }

    static func reason(_ text: String, over transport: Transport = .v1) -> String? {
        do throws(EntryFault) {
            _ = try read(text, over: transport)
            return nil
        } catch { return error.reason }
    }

    static let lists: [(String, [String])] = [
        (#"[{"token":"a"}]"#, [#"{"token":"a"}"#]),
        (#"[{"fid":"a"},{"fid":"b","variant":"es"}]"#, [#"{"fid":"a"}"#, #"{"fid":"b","variant":"es"}"#]),
        (
            " [\n { \"vars\" : { \"n\" : \"\\u0041 b\" } ,\t\"token\":\"a\" } ,{\"token\":\"a\"}\r] ",
            [#"{"vars":{"n":"A b"},"token":"a"}"#, #"{"token":"a"}"#]
        ),
        // Each recipient has a kind of its own.
        (#"[{"fid":"a"},{"token":"c"}]"#, [#"{"fid":"a"}"#, #"{"token":"c"}"#]),
        (#"[{"\u0074oken":"\u0061"}]"#, [#"{"token":"a"}"#]),
        // A text of more than one line stays on one.
        (#"[{"token":"a","vars":{"n":"x\ny\b"}}]"#, [#"{"token":"a","vars":{"n":"x\ny\b"}}"#]),
        // These fail their recipient, later.
        (
            #"[{"token":"a","vars":{"1":"x"}},{"token":"b","vars":{"n":null}}]"#,
            [#"{"token":"a","vars":{"1":"x"}}"#, #"{"token":"b","vars":{"n":null}}"#]
        ),
    ]

    @Test(arguments: lists)
    func elementsAreCompactLinesInTheirOrder(text: String, elements: [String]) throws {
        #expect(try Array(Self.read(text)) == elements)
    }

    static let refused: [(String, String)] = [
        ("[]", "recipients: empty, at least 1"), (" [ ] ", "recipients: empty, at least 1"),
        ("", "recipients: not JSON at byte 0: the text ends where a value should be"),
        ("{}", "recipients: must be an array, not an object"), ("7", "recipients: must be an array, not a number"),
        ("nul", "recipients: not JSON at byte 0: unexpected character where a value should be"),
        (#"[{"token":"a"}"#, "recipients: not JSON at byte 14: missing comma or closing bracket in an array"),
        (#"[{"token":"a"}]x"#, "recipients: not JSON at byte 15: unexpected text after the value"),
        (#"[{"token":"a"},]"#, "recipients[1]: not JSON at byte 15: unexpected character where a value should be"),
        (
            #"[{"token":"a"},{"token":}]"#,
            "recipients[1]: not JSON at byte 24: unexpected character where a value should be"
        ),
        (#"[{"token":"a"},"b"]"#, "recipients[1]: must be an object, not a string"),
        (#"[{"token":"a"},{}]"#, "recipients[1]: needs a token or a fid"),
        (#"[{"token":"a","fid":"b"}]"#, "recipients[0].fid: not together with token"),
        (#"[{"token":"a","token":"b"}]"#, "recipients[0].token: given more than once"),
        (#"[{"token":7}]"#, "recipients[0].token: must be a string, not a number"),
        (#"[{"token":""}]"#, "recipients[0].token: empty"),
        (#"[{"token":"a"},{"token":"b c"}]"#, "recipients[1].token: byte 1 is not one of A-Z a-z 0-9 _ : . -"),
        (#"[{"fid":"é"}]"#, "recipients[0].fid: byte 0 is not one of A-Z a-z 0-9 _ : . -"),
        (#"[{"token":"a","vars":[]}]"#, "recipients[0].vars: must be an object, not an array"),
        (#"[{"token":"a","variant":null}]"#, "recipients[0].variant: must be a string, not null"),
        (#"[{"token":"a","x\n":1}]"#, #"recipients[0].x\u{a}: unknown field"#),
    ]

    @Test(arguments: refused)
    func badElementIsNamedByItsIndex(text: String, reason: String) {
        #expect(Self.reason(text) == reason)
    }

    @Test(arguments: [Transport.legacy, .xmpp])
    func installationIDNeedsV1(transport: Transport) {
        #expect(
            Self.reason(#"[{"fid":"a"}]"#, over: transport)
                == "recipients[0].fid: only with the v1 transport, this project's is \(transport)"
        )
        #expect(Self.reason(#"[{"token":"a"}]"#, over: transport) == nil)
    }

    @Test func tokenOfLegalLengthIsAccepted() {
        func list(_ count: Int) -> String { #"[{"token":"\#(String(repeating: "t", count: count))"}]"# }
        #expect(Self.reason(list(1_024)) == nil)
        #expect(Self.reason(list(1_025)) == "recipients[0].token: 1025 characters, at most 1024")
    }

    @Test func depthOfAnElementIsThatInAnAudience() throws {
        func vars(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        let element = #"{"token":"a","vars":{"n":\#(vars(62))}}"#
        #expect(try Array(Self.read("[\(element)]")) == [element])
        #expect(
            Self.reason(#"[{"token":"a","vars":{"n":\#(vars(63))}}]"#)?.hasSuffix("nested deeper than 65 levels")
                == true
        )
    }

    @Test func hundredThousandElementsAreReadInOnePass() throws {
        var text = Array("[".utf8)
        for index in 0..<100_000 { text += #"{"token":"t\#(index)","vars":{"n":"\#(index)"}},"#.utf8 }
        text += #" { "token" : "last" } ]"#.utf8
        let recipients = try RecipientListReader(.v1).read(text)
        #expect(recipients.count == 100_001)
        #expect(recipients[99_999] == #"{"token":"t99999","vars":{"n":"99999"}}"#)
        #expect(recipients.last == #"{"token":"last"}"#)
        // A text that is compact is not copied.
        #expect(recipients.shared(99_999).storage.count == text.count)
        #expect(recipients.shared(100_000).storage.count == #"{"token":"last"}"#.utf8.count)
    }
}
