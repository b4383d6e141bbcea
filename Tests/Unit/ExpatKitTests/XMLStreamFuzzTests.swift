import ExpatKit
import FanfareXML
import Testing

/// Seeded documents and mutations of them, cut in every way: the same events and the same end, and never a crash.
@Suite struct XMLStreamFuzzTests {
    private struct Reading: Equatable {
        var events: [XMLStreamEvent] = []
        var failed = false
    }

    private static func read(_ bytes: [UInt8], cut: (Int) -> Int) -> Reading {
        // Small, so that limits are met too.
        let parser = XMLStreamParser(
            limits: XMLStreamLimits(maximumStanzaBytes: 300, maximumDepth: 5, maximumAttributes: 3, maximumTagBytes: 80)
        )
        var reading = Reading()
        var rest = bytes[...]
        do throws(XMLStreamError) {
            while !rest.isEmpty {
                let piece = rest.prefix(max(1, cut(rest.count)))
                reading.events += try parser.feed(Array(piece))
                rest = rest.dropFirst(piece.count)
            }
            reading.events += try parser.feed([])
        } catch {
            reading.failed = true
        }
        return reading
    }

    @Test(arguments: UInt64(1)...8)
    func eventsDoNotDependOnTheCuts(seed: UInt64) {
        var random = Generator(state: seed)
        var whole = 0
        for _ in 0..<400 {
            var bytes = random.document()
            if random.below(4) > 0 { for _ in 0...random.below(3) { random.mutate(&bytes) } }
            let atOnce = Self.read(bytes) { $0 }
            if !atOnce.failed { whole += 1 }
            #expect(Self.read(bytes) { _ in 1 } == atOnce, "\(String(decoding: bytes, as: UTF8.self))")
            let pieces = Self.read(bytes) { random.below($0) + 1 }
            #expect(pieces == atOnce, "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(whole > 80)
    }

    @Test func anyBytesGiveEventsOrAFault() {
        var random = Generator(state: 77)
        let parts = [
            "<", ">", "</", "/>", "<!DOCTYPE", "<![CDATA[", "]]>", "<!--", "-->", "<?xml", "&", ";", "&#x", "a",
            "xmlns", ":", "=", "'", "\"", " ", "\u{0}", "\u{FEFF}", "é",
        ]
        for _ in 0..<5_000 {
            let text = (0..<random.below(30)).map { _ in parts[random.below(parts.count)] }.joined()
            var bytes = Array(text.utf8)
            if random.below(3) == 0 { bytes.append(UInt8(random.below(256))) }
            _ = Self.read(bytes) { random.below($0) + 1 }
        }
    }

    @Test func escapedTextReadsBack() throws {
        var random = Generator(state: 5)
        let characters: [Character] = [
            "<", ">", "&", "'", "\"", "\n", "\t", "\r", " ", "]", "é", "𝄞", "x", "0", "\u{7F}",
        ]
        for _ in 0..<500 {
            let text = String((0..<random.below(40)).map { _ in characters[random.below(characters.count)] })
            let document = "<r><m a='\(XMLText.escaped(text))'>\(XMLText.escaped(text))</m>"
            let children: [XMLNode] = text.isEmpty ? [] : [.text(text)]
            let element = XMLElement(XMLName("m"), attributes: ["a": text], children: children)
            #expect(try XMLStreamParser().feed(Array(document.utf8)).last == .element(element))
        }
    }
}

/// A small linear generator: the same cases in every run.
private struct Generator {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(max(1, bound)))
    }

    mutating func document() -> [UInt8] {
        var text = below(2) == 0 ? "" : "<?xml version='1.0'?>"
        text += "<s:stream xmlns:s='urn:s' xmlns='urn:c'>"
        for _ in 0..<below(6) {
            text += element(depth: 0)
            if below(3) == 0 { text += [" ", "\n", "<!--c-->", "<?p i?>"][below(4)] }
        }
        if below(3) == 0 { text += "</s:stream>" }
        return Array(text.utf8)
    }

    private mutating func element(depth: Int) -> String {
        let name = ["message", "gcm", "iq", "s:a"][below(4)]
        var text = "<\(name)"
        for index in 0..<below(3) { text += " a\(index)='\(["", "1", "&lt;&#228;", "ä"][below(4)])'" }
        if below(4) == 0 { text += " xmlns='google:mobile:data'" }
        guard below(5) > 0 else { return text + "/>" }
        text += ">"
        for _ in 0..<below(4) {
            switch below(4) {
            case 0 where depth < 3: text += element(depth: depth + 1)
            case 1: text += "{&quot;k&quot;:&#x1D11E;}"
            case 2: text += "<![CDATA[{\"k\":1}]]>"
            default: text += "text\r\n ü"
            }
        }
        return text + "</\(name)>"
    }

    mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let at = below(bytes.count)
        switch below(5) {
        case 0: bytes[at] = UInt8(below(256))
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(Array("<>&'\"/!?=".utf8)[below(9)], at: at)
        case 3: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + below(20))], at: at)
        default: bytes.removeSubrange(at..<min(bytes.count, at + below(10)))
        }
    }
}
