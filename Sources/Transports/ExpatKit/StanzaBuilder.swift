internal import FanfareXML

/// Builds elements from a parser's reports, and enforces the limits on the peer.
struct StanzaBuilder {
    private struct Open {
        var element: XMLElement
        /// Text since the last tag: a parser hands it over in arbitrary parts.
        var text: [UInt8] = []

        mutating func flushText() {
            guard !text.isEmpty else { return }
            element.children.append(.text(String(decoding: text, as: UTF8.self)))
            text.removeAll(keepingCapacity: true)
        }
    }

    private let limits: XMLStreamLimits
    private var open: [Open] = []
    private var isInRoot = false
    /// The byte after the last whole child of the root; the bytes of a stanza are counted from here.
    private var boundary = 0
    private(set) var events: [XMLStreamEvent] = []
    /// The first fault; later reports have no effect.
    private(set) var failure: String?

    init(limits: XMLStreamLimits) { self.limits = limits }

    mutating func removeEvents() -> [XMLStreamEvent] {
        defer { events = [] }
        return events
    }

    mutating func fail(_ reason: String) {
        if failure == nil { failure = reason }
    }

    /// - Parameters:
    ///   - attributes: in any order; one without a namespace goes before one of the same local name with one.
    ///   - bytes: where the tag stands in the document.
    mutating func start(_ name: XMLName, _ attributes: [(name: XMLName, value: String)], bytes: Range<Int>) {
        guard isWithinLimits(bytes) else { return }
        guard open.count + (isInRoot ? 1 : 0) < limits.maximumDepth else {
            return fail("elements nested deeper than \(limits.maximumDepth)")
        }
        guard attributes.count <= limits.maximumAttributes else {
            return fail("more than \(limits.maximumAttributes) attributes")
        }
        var byLocalName: [String: String] = [:]
        for attribute in attributes where attribute.name.namespace.isEmpty || byLocalName[attribute.name.local] == nil {
            byLocalName[attribute.name.local] = attribute.value
        }
        guard isInRoot else {
            isInRoot = true
            boundary = bytes.upperBound
            return events.append(.opened(name, attributes: byLocalName))
        }
        if let last = open.indices.last { open[last].flushText() }
        open.append(Open(element: XMLElement(name, attributes: byLocalName)))
    }

    mutating func end(bytes: Range<Int>) {
        guard isWithinLimits(bytes) else { return }
        guard var ended = open.popLast() else {
            events.append(.closed)
            boundary = bytes.upperBound
            return
        }
        ended.flushText()
        if let last = open.indices.last {
            open[last].element.children.append(.element(ended.element))
        } else {
            events.append(.element(ended.element))
            boundary = bytes.upperBound
        }
    }

    mutating func text(_ text: UnsafeRawBufferPointer, bytes: Range<Int>) {
        guard failure == nil else { return }
        if let last = open.indices.last {
            guard isWithinStanza(bytes) else { return }
            return open[last].text.append(contentsOf: text)
        }
        // Between two children any number of blanks may keep the connection alive, and nothing else is allowed.
        guard text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }) else {
            return fail("text between stanzas")
        }
        boundary = bytes.upperBound
    }

    /// Counts the bytes of a comment or processing instruction, which has no meaning here.
    mutating func skipped(bytes: Range<Int>) { _ = isWithinLimits(bytes) }

    /// After a piece was read.
    ///
    /// - Parameters:
    ///   - token: where the first token begins that the parser has not reported yet.
    ///   - fed: how many bytes of the document have arrived.
    mutating func record(token: Int, fed: Int) {
        guard failure == nil else { return }
        _ = isWithinLimits(min(token, fed)..<fed)
    }

    private mutating func isWithinLimits(_ bytes: Range<Int>) -> Bool {
        guard isWithinStanza(bytes) else { return false }
        guard bytes.count <= limits.maximumTagBytes else {
            fail("a tag longer than \(limits.maximumTagBytes) bytes")
            return false
        }
        return true
    }

    private mutating func isWithinStanza(_ bytes: Range<Int>) -> Bool {
        guard failure == nil else { return false }
        guard bytes.upperBound - boundary <= limits.maximumStanzaBytes else {
            fail("a stanza longer than \(limits.maximumStanzaBytes) bytes")
            return false
        }
        return true
    }
}
