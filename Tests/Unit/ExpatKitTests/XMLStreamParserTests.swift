import ExpatKit
import FanfareXML
import Testing

@Suite struct XMLStreamParserTests {
    static let header = """
        <?xml version='1.0'?><stream:stream to="gcm.googleapis.com" xml:lang="en" xmlns="jabber:client" \
        xmlns:stream="http://etherx.jabber.org/streams">
        """

    private func events(_ text: String, limits: XMLStreamLimits = XMLStreamLimits()) throws -> [XMLStreamEvent] {
        try XMLStreamParser(limits: limits).feed(Array(text.utf8))
    }

    private func fault(_ text: String, limits: XMLStreamLimits = XMLStreamLimits()) -> String? {
        let parser = XMLStreamParser(limits: limits)
        _ = try? parser.feed(Array(text.utf8))
        return parser.failure?.reason
    }

    @Test func streamReportsOpeningStanzasAndEnd() throws {
        let gcm = #"<gcm xmlns="google:mobile:data">{&quot;k&quot;:1}</gcm>"#
        let text = Self.header + #"<message id="1">a&amp;b\#(gcm)c</message>"#
        let message = XMLElement(
            XMLName("message", in: "jabber:client"),
            attributes: ["id": "1"],
            children: [
                .text("a&b"),
                .element(XMLElement(XMLName("gcm", in: "google:mobile:data"), children: [.text(#"{"k":1}"#)])),
                .text("c"),
            ]
        )
        let name = XMLName("stream", in: "http://etherx.jabber.org/streams")
        #expect(
            try events(text + " \n</stream:stream>") == [
                .opened(name, attributes: ["to": "gcm.googleapis.com", "lang": "en"]), .element(message), .closed,
            ]
        )
    }

    @Test func nameIsItsNamespaceWhateverThePrefix() throws {
        let plain = try events(#"<r><gcm xmlns="n">x</gcm>"#)
        #expect(try events(#"<r><d:gcm xmlns:d="n">x</d:gcm>"#) == plain)
        #expect(try events(#"<r xmlns:d="n"><d:gcm>x</d:gcm>"#) == plain)
        #expect(try events(#"<r xmlns:d="n"><d:gcm><![CDATA[x]]></d:gcm>"#) == plain)
        #expect(try events(#"<r xmlns:d="n"><d:gcm><!-- no -->x<?no no?></d:gcm>"#) == plain)
        #expect(try events("<r><gcm>x</gcm>") != plain)
    }

    @Test func attributeWithANamespaceDoesNotHideOneWithout() throws {
        let opened = XMLStreamEvent.opened(XMLName("r"), attributes: ["id": "1"])
        #expect(try events(#"<r xmlns:a="n" a:id="2" id="1">"#) == [opened])
        #expect(try events(#"<r xmlns:a="n" id="1" a:id="2">"#) == [opened])
    }

    @Test(arguments: [
        ("<!DOCTYPE r><r/>", "a document type declaration"),
        (#"<!DOCTYPE r SYSTEM "http://127.0.0.1/x.dtd"><r/>"#, "a document type declaration"),
        (#"<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r>&b;</r>"#, "a document type declaration"),
        ("<r><m>&lol;</m>", "not well-formed XML: undefined entity, byte 6"),
        ("<r><m></r>", "not well-formed XML: mismatched tag, byte 8"),
        ("<r>\u{1}", "not well-formed XML: not well-formed (invalid token), byte 3"),
        ("<r>&#1;", "not well-formed XML: reference to invalid character number, byte 3"),
        ("<r><m \u{FFFF}", "not well-formed XML: not well-formed (invalid token), byte 6"),
        (#"<r a="1" a="2">"#, "not well-formed XML: duplicate attribute, byte 9"),
        ("<r><x:m/>", "not well-formed XML: unbound prefix, byte 3"),
        ("<r/><r/>", "not well-formed XML: junk after document element, byte 4"),
        ("<r> x", "text between stanzas"),
        ("<r></r> <!-- x --> y", "not well-formed XML: junk after document element, byte 19"),
    ])
    func malformedDocumentIsAFault(text: String, reason: String) {
        #expect(fault(text) == reason)
    }

    @Test func invalidUTF8IsAFault() throws {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3, 0x3C]] {
            let parser = XMLStreamParser()
            #expect(throws: XMLStreamError.self) {
                _ = try parser.feed(Array("<r><m>".utf8))
                _ = try parser.feed(bytes + Array("</m>".utf8))
                _ = try parser.feed([])
            }
        }
    }

    @Test func declaredEncodingIsIgnored() throws {
        let text = Array("<?xml version='1.0' encoding='ISO-8859-1'?><r><m>".utf8) + [0xC3, 0xA4] + Array("</m>".utf8)
        let element = XMLElement(XMLName("m"), children: [.text("ä")])
        #expect(try XMLStreamParser().feed(text).last == .element(element))
    }

    /// Found by fuzzing: in one piece such a stream was read, byte by byte it was refused.
    @Test(arguments: ["D\0ht", "wide", "WIDE", "marked", "MARKED", "<r><m>\0</m>"])
    func anotherEncodingIsRefusedHoweverItIsCut(name: String) throws {
        let little: [UInt8] = Array("<r><m/>".utf16).flatMap { [UInt8($0), 0] as [UInt8] }
        let big: [UInt8] = Array("<r><m/>".utf16).flatMap { [0, UInt8($0)] as [UInt8] }
        let encoded: [String: [UInt8]] = [
            "wide": little, "WIDE": big, "marked": [0xFF, 0xFE] + little, "MARKED": [0xFE, 0xFF] + big,
        ]
        let bytes = encoded[name] ?? Array(name.utf8)
        let parser = XMLStreamParser()
        #expect(throws: XMLStreamError.self) {
            _ = try parser.feed(bytes)
            _ = try parser.feed([])
        }
        let slow = XMLStreamParser()
        #expect(throws: XMLStreamError.self) {
            for byte in bytes { _ = try slow.feed([byte]) }
            _ = try slow.feed([])
        }
        #expect(parser.failure == slow.failure)
    }

    @Test func eventsBeforeAFaultAreReturned() throws {
        let parser = XMLStreamParser()
        let events = try parser.feed(Array("<r><a/><b/></c>".utf8))
        #expect(events.count == 3)
        #expect(parser.failure != nil)
        for _ in 0..<2 {
            let thrown = #expect(throws: XMLStreamError.self) { try parser.feed([]) }
            #expect(thrown == parser.failure)
        }
    }

    @Test func restartedParserExpectsANewDocument() throws {
        let parser = XMLStreamParser()
        _ = try parser.feed(Array("<r><a/><unfinished".utf8))
        parser.restart()
        #expect(try parser.feed(Array("<?xml version='1.0'?><r>".utf8)) == [.opened(XMLName("r"), attributes: [:])])
        _ = try? parser.feed(Array("</x>".utf8))
        #expect(parser.failure != nil)
        parser.restart()
        #expect(try parser.feed(Array("<r>".utf8)).count == 1)
    }

    // MARK: Limits

    @Test func stanzaLengthIsLimitedAndTheirNumberIsNot() throws {
        let limits = XMLStreamLimits(maximumStanzaBytes: 100)
        let longest = "<m>" + String(repeating: "x", count: 93) + "</m>"
        #expect(longest.utf8.count == 100)
        let parser = XMLStreamParser(limits: limits)
        _ = try parser.feed(Array("<r>".utf8))
        for _ in 0..<50 { #expect(try parser.feed(Array((longest + longest).utf8)).count == 2) }
        #expect(fault("<r><m>" + String(repeating: "x", count: 94) + "</m>", limits: limits) != nil)
        #expect(fault("<r><m>" + String(repeating: "x", count: 500), limits: limits) != nil)
        #expect(fault("<r><m>" + String(repeating: "<a/>", count: 500), limits: limits) != nil)
        #expect(fault("<r><m>" + String(repeating: "<!-- -->", count: 500), limits: limits) != nil)
        #expect(fault("<r>" + String(repeating: "<!-- -->", count: 500), limits: limits) != nil)
        #expect(fault("<r><m a='" + String(repeating: "x", count: 500), limits: limits) != nil)
        #expect(fault(String(repeating: " ", count: 500) + "<r>", limits: limits) != nil)
        #expect(fault("<r a='" + String(repeating: "x", count: 500), limits: limits) != nil)
    }

    @Test func endlessStanzaFailsWithinOnePieceOfItsLimit() {
        let parser = XMLStreamParser()
        var sent = 0
        #expect(throws: XMLStreamError(reason: "a stanza longer than 65536 bytes")) {
            _ = try parser.feed(Array("<r><m>".utf8))
            while sent < 1 << 20 {
                sent += 1_000
                _ = try parser.feed([UInt8](repeating: 0x78, count: 1_000))
            }
        }
        #expect(sent <= 67_000)
    }

    @Test func endlessTagFailsEarlier() {
        #expect(fault("<r><m a='" + String(repeating: "x", count: 9_000)) == "a tag longer than 8192 bytes")
        #expect(fault("<r><m a='" + String(repeating: "x", count: 9_000) + "'/>") == "a tag longer than 8192 bytes")
        #expect(fault("<r><!--" + String(repeating: "x", count: 9_000)) == "a tag longer than 8192 bytes")
        #expect(fault("<r><m a='" + String(repeating: "x", count: 8_000) + "'/>") == nil)
    }

    @Test func blanksBetweenStanzasAreUnlimited() throws {
        let parser = XMLStreamParser(limits: XMLStreamLimits(maximumStanzaBytes: 64))
        _ = try parser.feed(Array("<r>".utf8))
        for _ in 0..<100 { #expect(try parser.feed([UInt8](repeating: 0x20, count: 100)).isEmpty) }
        #expect(try parser.feed(Array("<m/>".utf8)).count == 1)
    }

    @Test func depthAndAttributesHaveLimits() throws {
        let limits = XMLStreamLimits(maximumDepth: 4, maximumAttributes: 2)
        #expect(fault("<r><a><b><c>", limits: limits) == nil)
        #expect(fault("<r><a><b><c><d/>", limits: limits) == "elements nested deeper than 4")
        #expect(fault("<r><a x='' y=''/>", limits: limits) == nil)
        #expect(fault("<r><a x='' y='' z=''/>", limits: limits) == "more than 2 attributes")
        // Not by the way they came: their depth does not add up.
        #expect(try events("<r>" + String(repeating: "<a><b/></a>", count: 20), limits: limits).count == 21)
    }

    @Test func stanzaIsReportedWithItsLastByte() throws {
        let parser = XMLStreamParser()
        var seen: [XMLStreamEvent] = []
        for byte in Array((Self.header + "<message><gcm xmlns='n'>{}</gcm></message>").utf8) {
            seen += try parser.feed([byte])
        }
        // The last byte, and nothing after it, gave the stanza.
        #expect(seen.count == 2)
    }
}
