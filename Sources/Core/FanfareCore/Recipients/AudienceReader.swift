internal import FanfareJSON
public import FanfareModel
internal import FanfareTemplate

/// Reads an audience from NDJSON or CSV as it arrives, and checks each recipient.
///
/// A line of NDJSON is a token, or a recipient of a personal job as an object. A token is a JSON string, or stands without
/// quotes if it is not JSON itself, as `null` and `12` are. CSV has a header; see ``RecipientColumns``. Lines without text
/// are skipped. Holds one row at a time.
public struct AudienceReader: Sendable {
    public enum Form: Sendable { case ndjson, csv }

    /// A broken rule, and its line, counted from 1.
    public struct Fault: Error, Equatable, Sendable {
        public let line: Int
        public let rule: String
    }

    /// A worker refuses a longer recipient unread.
    private static let maximumRowBytes = PersonalSends.maximumElementBytes

    private let form: Form
    /// The form of the elements; nil before the first.
    public private(set) var format: AudienceFormat?
    /// The beginning of the next line.
    private var rest: [UInt8] = []
    /// The number of the last line that was read.
    private var line = 0
    private var separator = UInt8(ascii: ",")
    private var columns: RecipientColumns?
    /// A row of CSV that continues in the next line.
    private var record: CSVRecord?

    public init(_ form: Form) { self.form = form }

    /// - Parameter elements: the recipients that are whole are appended, as elements of a list.
    public mutating func feed(_ bytes: [UInt8], into elements: inout [[UInt8]]) throws(Fault) {
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if rest.isEmpty {
                try read(bytes[start..<end], into: &elements)
            } else {
                rest += bytes[start..<end]
                let whole = rest
                rest = []
                try read(whole[...], into: &elements)
            }
            start = end + 1
        }
        rest += bytes[start...]
        guard rest.count <= Self.maximumRowBytes else {
            throw Fault(line: line + 1, rule: "longer than \(Self.maximumRowBytes) bytes; give one recipient per line")
        }
    }

    /// Reads the last line, which needs no line feed.
    public mutating func finish(into elements: inout [[UInt8]]) throws(Fault) {
        let last = rest
        rest = []
        if !last.isEmpty { try read(last[...], into: &elements) }
        if var open = record {
            record = nil
            open.abandon("the quote has no end; write a quote within the cell twice")
            try read(open, into: &elements)
        }
        guard format != nil else { throw Fault(line: max(1, line), rule: "no recipients; give one per line") }
    }

    private mutating func read(_ text: ArraySlice<UInt8>, into elements: inout [[UInt8]]) throws(Fault) {
        line += 1
        let text = line == 1 ? ByteOrderMark.removed(from: text) : text
        guard form == .csv else { return try readJSON(text, into: &elements) }
        if record != nil {
            record?.append(text)
        } else {
            guard text.contains(where: { $0 > 0x20 }) else { return }
            if columns == nil, let named = SpreadsheetLine.separator(text) {
                separator = named
                return
            }
            record = CSVRecord(text, firstLine: line, separator: separator)
        }
        guard var row = record else { return }
        if row.isOpen {
            guard row.source.count > Self.maximumRowBytes else { return }
            row.abandon(
                "the quote has no end within \(Self.maximumRowBytes) bytes; write a quote within the cell twice"
            )
        }
        record = nil
        try read(row, into: &elements)
    }

    // MARK: Rows

    private mutating func readJSON(_ text: ArraySlice<UInt8>, into elements: inout [[UInt8]]) throws(Fault) {
        let isText: (UInt8) -> Bool = { $0 > 0x20 }
        guard let start = text.firstIndex(where: isText), let end = text.lastIndex(where: isText) else { return }
        let element = Array(text[start...end])
        switch element[0] {
        case UInt8(ascii: "{"):
            if let fault = Self.fault(of: element) {
                throw Fault(line: line, rule: fault.path.isEmpty ? fault.rule : fault.reason)
            }
            try append(element, .json, to: &elements)
        case UInt8(ascii: "["): throw Fault(line: line, rule: "a JSON array; write one recipient per line")
        default:
            let isQuoted = element.count >= 2 && element[0] == UInt8(ascii: "\"") && element.last == element[0]
            if !isQuoted, (try? JSONParser.parse(element)) != nil {
                throw Fault(line: line, rule: "a JSON literal or number; put a token in double quotes")
            }
            let token = isQuoted ? Array(element[1..<element.count - 1]) : element
            if let rule = RecipientRules.tokenFault(token) { throw Fault(line: line, rule: "token: \(rule)") }
            try append(token, .token, to: &elements)
        }
    }

    private mutating func read(_ row: CSVRecord, into elements: inout [[UInt8]]) throws(Fault) {
        guard !row.isBlank else { return }
        do throws(CSVRecord.Fault) {
            guard let columns else {
                self.columns = try RecipientColumns(header: row)
                return
            }
            let element = columns.areTokens ? try columns.token(of: row) : try columns.element(of: row)
            let broken =
                columns.areTokens
                ? RecipientRules.tokenFault(element).map { EntryFault("token", $0) } : Self.fault(of: element)
            if let broken {
                let column = columns.column(of: broken.path)
                throw CSVRecord.Fault(
                    offset: column.map { row.offset(of: $0) } ?? 0,
                    rule: columns.reason(broken)
                )
            }
            format = columns.areTokens ? .token : .json
            elements.append(element)
        } catch {
            let lines = row.source.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            throw Fault(line: row.firstLine + lines, rule: error.rule)
        }
    }

    private mutating func append(
        _ element: [UInt8],
        _ kind: AudienceFormat,
        to elements: inout [[UInt8]]
    ) throws(Fault) {
        guard format == nil || format == kind else {
            throw Fault(line: line, rule: "a token among recipients, or a recipient among tokens; give one of the two")
        }
        format = kind
        elements.append(element)
    }

    /// The rule that a recipient breaks whatever its job's message is.
    private static func fault(of element: [UInt8]) -> EntryFault? {
        guard element.count <= maximumRowBytes else {
            return EntryFault("", "\(element.count) bytes, at most \(maximumRowBytes)")
        }
        do throws(TemplateFault) {
            let recipient = try RecipientElement(element.indices, of: element)
            if let fault = recipient.fault { return EntryFault(Excerpt.plain(fault.path), fault.rule) }
            return RecipientRules.tokenFault(recipient.recipient.bytes).map {
                EntryFault(recipient.kind.rawValue, $0)
            }
        } catch {
            return EntryFault(Excerpt.plain(error.path), error.rule)
        }
    }
}
