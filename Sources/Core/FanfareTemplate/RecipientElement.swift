public import FanfareJSON
public import FanfareModel

/// One recipient of a personal job: `{"token":"…","vars":{"name":"Ana"},"variant":"es"}`, or `fid` for `token`.
///
/// Members stand in any order; `vars` and `variant` may be absent, but not null. The contract separates two kinds of
/// errors. What breaks the element itself is thrown: it rejects an inline job, and fails the recipient of an audience. A
/// fault in `vars` is stored in ``fault``: it fails the recipient in both.
public struct RecipientElement: Sendable {
    /// Names in `vars`, at most.
    public static let maximumNames = 32
    /// Arrays and objects that may be open at once; deeper elements are malformed.
    public static let maximumDepth = 64

    /// `token` or `fid`.
    public let kind: RecipientKind
    /// The token or id without escapes; its length and alphabet are not checked here.
    public let recipient: SharedText
    /// In the order of the element; empty if there is a fault.
    public let variables: [TemplateVariable]
    /// The variant's name without escapes, as the producer wrote it.
    public let variant: SharedText?
    /// The first bad name, bad value, repeated name or 33rd name of `vars`. Its path is `vars` or `vars.name`.
    public let fault: TemplateFault?
    /// Where the element stands in the text that names it, without the white space around it.
    private let range: Range<Int>
    private let storage: [UInt8]

    /// Reads a whole text, such as an element of an audience or a line of a batch.
    ///
    /// - Parameters:
    ///   - range: the text, within `storage`.
    ///   - storage: less than 4 GiB; the element refers to parts of it and keeps it in memory.
    /// - Throws: a fault whose path is within the element: empty, or a member's name as the producer wrote it.
    public init(_ range: Range<Int>, of storage: [UInt8]) throws(TemplateFault) {
        var scanner = JSONScanner(bytes: storage, range: range, maximumDepth: Self.maximumDepth)
        scanner.skipSpace()
        self = try RecipientElement(from: &scanner)
        do throws(JSONError) { try scanner.finish() } catch { throw TemplateFault(malformed: error) }
    }

    /// Reads the next element of an array of recipients. Offsets in errors count from the start of the whole text.
    ///
    /// - Parameter scanner: stands at the element, and afterwards at its end. Its text is kept in memory.
    public init(from scanner: inout JSONScanner) throws(TemplateFault) {
        var reader = RecipientReader(scanner: scanner)
        do throws(ReadingError) {
            self = try reader.element()
            scanner = reader.scanner
        } catch {
            switch error {
            case .json(let error): throw TemplateFault(malformed: error)
            case .fault(let fault): throw fault
            }
        }
    }

    init(
        kind: RecipientKind,
        recipient: SharedText,
        variables: [TemplateVariable],
        variant: SharedText?,
        fault: TemplateFault?,
        range: Range<Int>,
        storage: [UInt8]
    ) {
        (self.kind, self.recipient, self.variant) = (kind, recipient, variant)
        (self.variables, self.fault) = (variables, fault)
        (self.range, self.storage) = (range, storage)
    }

    /// Appends the element as one line, without its end: no white space outside strings, and no line feed.
    ///
    /// A string whose escapes are longer than needed is written with fewer; the text is never longer than the source. The
    /// members stay in their order, and what causes ``fault`` stays, so that reading the line finds it again.
    public func appendCompact(to bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + range.count)
        var scanner = JSONScanner(bytes: storage, range: range, maximumDepth: Self.maximumDepth)
        while let byte = scanner.nextByte {
            guard byte == UInt8(ascii: "\"") else {
                if !Self.isSpace(byte) { bytes.append(byte) }
                scanner.advance()
                continue
            }
            let quote = scanner.next
            // The source is known to be well-formed, so that nothing is thrown.
            guard let plain = try? scanner.plainString() else {
                let written = bytes.count
                bytes.appendJSONString((try? scanner.string()) ?? "")
                let original = storage[quote..<scanner.next]
                // Such as `\b`, which would be written as `\u0008`.
                if bytes.count - written > original.count { bytes.replaceSubrange(written..., with: original) }
                continue
            }
            bytes.append(contentsOf: storage[plain.lowerBound - 1..<plain.upperBound + 1])
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

extension TemplateFault {
    fileprivate init(malformed error: JSONError) {
        self.init("", "not JSON at byte \(error.offset): \(error.reason)")
    }
}
