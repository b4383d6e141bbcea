internal import CExpat
public import FanfareXML
internal import Glibc

/// Reads a document that arrives in pieces: its root's start tag, the whole children of the root, the end.
///
/// Reads UTF-8 with namespaces. A document type or entity declaration is a fault; comments and processing instructions
/// are skipped; nothing outside the document is read. The same bytes give the same events however they are cut. Not
/// thread-safe.
public final class XMLStreamParser {
    private let limits: XMLStreamLimits
    private var expat: Expat
    /// The fault that ended the stream; set before the events that precede it are returned.
    public private(set) var failure: XMLStreamError?

    public init(limits: XMLStreamLimits = XMLStreamLimits()) {
        self.limits = limits
        expat = Expat(limits: limits)
    }

    deinit { expat.close() }

    /// Reads a piece of any length.
    ///
    /// Events before a fault are returned, and the next call throws the fault; without events this call does. Every
    /// later call throws it again.
    public func feed(_ bytes: [UInt8]) throws(XMLStreamError) -> [XMLStreamEvent] {
        if let failure { throw failure }
        let (events, fault) = expat.parse(bytes)
        if let fault { failure = XMLStreamError(reason: fault) }
        if let failure, events.isEmpty { throw failure }
        return events
    }

    /// Forgets everything and expects a new document, as XMPP does after authentication.
    public func restart() {
        expat.close()
        expat = Expat(limits: limits)
        failure = nil
    }
}

/// One document's parser. Expat holds it from `init` to `close()`, and calls back only within `parse(_:)`.
private final class Expat {
    /// No document may hold this character, not even as a reference, so no namespace can pretend to contain it.
    static let separator: UInt8 = 1

    private var parser: XML_Parser?
    private var context: Unmanaged<Expat>?
    private var fed = 0
    var builder: StanzaBuilder

    init(limits: XMLStreamLimits) {
        builder = StanzaBuilder(limits: limits)
        guard let parser = XML_ParserCreateNS("UTF-8", XML_Char(Self.separator)) else {
            builder.fail("out of memory")
            return
        }
        self.parser = parser
        let reference = Unmanaged.passRetained(self)
        context = reference
        XML_SetUserData(parser, reference.toOpaque())
        XML_SetElementHandler(parser, elementStarted, elementEnded)
        XML_SetCharacterDataHandler(parser, textArrived)
        XML_SetCommentHandler(parser, commentArrived)
        XML_SetProcessingInstructionHandler(parser, instructionArrived)
        XML_SetStartDoctypeDeclHandler(parser, doctypeStarted)
        XML_SetEntityDeclHandler(parser, entityDeclared)
        cexpat_read_at_once(parser)
    }

    deinit { assert(parser == nil, "closed first") }

    /// Frees the parser and releases its context. Safe to call twice.
    func close() {
        if let parser { XML_ParserFree(parser) }
        parser = nil
        context?.release()
        context = nil
    }

    func parse(_ bytes: [UInt8]) -> (events: [XMLStreamEvent], fault: String?) {
        guard let parser else { return ([], builder.failure ?? "the parser is closed") }
        bytes.withUnsafeBytes { buffer in
            var rest = UnsafeRawBufferPointer(rebasing: buffer[...])
            // A long piece is parsed in parts, so that a fault ends it early.
            while !rest.isEmpty, builder.failure == nil {
                // Expat reads UTF-16 despite the declared UTF-8 if the first two bytes look so. No byte of UTF-8 text
                // is 0, 0xFE or 0xFF.
                guard let next = rest.first, next != 0, fed > 0 || next < 0xFE else {
                    builder.fail("not UTF-8")
                    break
                }
                let text = rest.prefix(16_384).prefix { $0 != 0 }
                let part = UnsafeRawBufferPointer(rebasing: text)
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
                fed += part.count
                let chars = part.baseAddress?.assumingMemoryBound(to: CChar.self)
                let status = XML_Parse(parser, chars, Int32(part.count), Int32(XML_FALSE))
                if status != XML_STATUS_OK { builder.fail(Self.reason(parser)) }
                builder.record(token: max(0, cexpat_byte_index(parser)), fed: fed)
            }
        }
        return (builder.removeEvents(), builder.failure)
    }

    private static func reason(_ parser: XML_Parser) -> String {
        let text = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "unknown error"
        return "not well-formed XML: \(text), byte \(cexpat_byte_index(parser))"
    }

    /// Position in the document of the token that a callback reports.
    private var bytes: Range<Int> {
        guard let parser else { return 0..<0 }
        let start = max(0, cexpat_byte_index(parser))
        return start..<start + max(0, cexpat_byte_count(parser))
    }

    /// Records the fact of a callback; after a fault expat stops.
    fileprivate static func record(
        _ context: UnsafeMutableRawPointer?,
        _ body: (inout StanzaBuilder, Range<Int>) -> Void
    ) {
        guard let context else { return }
        let expat = Unmanaged<Expat>.fromOpaque(context).takeUnretainedValue()
        guard expat.builder.failure == nil else { return }
        body(&expat.builder, expat.bytes)
        if expat.builder.failure != nil, let parser = expat.parser { XML_StopParser(parser, XML_Bool(XML_FALSE)) }
    }

    /// Expat writes a name as its namespace, the separator and the local part; without a namespace as the latter alone.
    fileprivate static func name(_ text: UnsafePointer<XML_Char>) -> XMLName {
        let bytes = UnsafeRawBufferPointer(start: text, count: strlen(text))
        guard let mark = bytes.lastIndex(of: separator) else { return XMLName(String(decoding: bytes, as: UTF8.self)) }
        let namespace = String(decoding: bytes[..<mark], as: UTF8.self)
        return XMLName(String(decoding: bytes[(mark + 1)...], as: UTF8.self), in: namespace)
    }
}

private let elementStarted: XML_StartElementHandler = { context, name, attributes in
    guard let name else { return }
    var list: [(name: XMLName, value: String)] = []
    var next = attributes
    while let pair = next, let key = pair[0], let value = pair[1] {
        list.append((Expat.name(key), String(cString: value)))
        next = pair + 2
    }
    Expat.record(context) { builder, bytes in builder.start(Expat.name(name), list, bytes: bytes) }
}

private let elementEnded: XML_EndElementHandler = { context, _ in
    Expat.record(context) { builder, bytes in builder.end(bytes: bytes) }
}

private let textArrived: XML_CharacterDataHandler = { context, text, count in
    let buffer = UnsafeRawBufferPointer(start: text, count: Int(count))
    Expat.record(context) { builder, bytes in builder.text(buffer, bytes: bytes) }
}

private let commentArrived: XML_CommentHandler = { context, _ in
    Expat.record(context) { builder, bytes in builder.skipped(bytes: bytes) }
}

private let instructionArrived: XML_ProcessingInstructionHandler = { context, _, _ in
    Expat.record(context) { builder, bytes in builder.skipped(bytes: bytes) }
}

private let doctypeStarted: XML_StartDoctypeDeclHandler = { context, _, _, _, _ in
    Expat.record(context) { builder, _ in builder.fail("a document type declaration") }
}

// The handler above stops the parser before it reads an entity; this is a second guard.
private let entityDeclared: XML_EntityDeclHandler = { context, _, _, _, _, _, _, _, _ in
    Expat.record(context) { builder, _ in builder.fail("an entity declaration") }
}
