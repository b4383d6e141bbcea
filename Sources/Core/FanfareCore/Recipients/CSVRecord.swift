/// One record of a CSV file, RFC 4180: cells separated by commas, or by another byte. A cell in quotes may have commas, line breaks and, written
/// twice, quotes.
public struct CSVRecord: Sendable {
    /// A broken rule, and the byte of ``source`` where it is broken.
    public struct Fault: Error, Equatable, Sendable {
        public let offset: Int
        public let rule: String

        public init(offset: Int, rule: String) { (self.offset, self.rule) = (offset, rule) }
    }

    private enum State { case plain, quoted, behindQuote }

    private struct Cell {
        /// The byte at which the cell begins, its quote included.
        let start: Int
        /// The bytes between the quotes, or the whole cell.
        var text: Range<Int>
        var hasDoubledQuotes = false
    }

    /// The lines of the record as they stand in the file, without the end of the last one.
    public private(set) var source: [UInt8]
    /// The line at which the record begins, counted from 1.
    public let firstLine: Int
    private let separator: UInt8
    private var cells: [Cell] = []
    private var state = State.plain
    /// The first broken rule. The record ends with its line.
    public private(set) var fault: Fault?
    /// Whether the record took the rest of the file with it.
    public private(set) var isAbandoned = false

    private static let quote = UInt8(ascii: "\"")

    /// - Parameter line: without its line feed.
    public init(_ line: ArraySlice<UInt8>, firstLine: Int, separator: UInt8 = UInt8(ascii: ",")) {
        self.firstLine = firstLine
        self.separator = separator
        source = Array(line)
        cells.reserveCapacity(8)
        startCell(at: 0)
        scan(from: 0)
    }

    /// Whether the record continues in the next line, within quotes.
    public var isOpen: Bool { fault == nil && state == .quoted }

    /// Appends the next line of an open record, without its line feed.
    public mutating func append(_ line: ArraySlice<UInt8>) {
        let start = source.count
        source.append(UInt8(ascii: "\n"))
        source.append(contentsOf: line)
        scan(from: start)
    }

    /// Ends an open record that cannot continue: the quote of its last cell has no end.
    public mutating func abandon(_ rule: String) {
        fault = Fault(offset: cells.last?.start ?? 0, rule: rule)
        isAbandoned = true
    }

    public var count: Int { cells.count }

    /// The byte at which a cell begins.
    public func offset(of cell: Int) -> Int { cells[cell].start }

    /// Whether a cell has no text.
    public func isEmpty(_ cell: Int) -> Bool { cells[cell].text.isEmpty }

    /// Whether a cell has nothing, or white space only.
    public func isBlank(_ cell: Int) -> Bool { source[cells[cell].text].allSatisfy { $0 <= 0x20 } }

    /// Whether no cell has text, as in the rows that spreadsheets write below the last one with text.
    public var isBlank: Bool { fault == nil && cells.indices.allSatisfy(isBlank) }

    /// The text of a cell without its quotes; nil for a cell that is not UTF-8.
    public func text(_ cell: Int) -> String? {
        let (range, hasDoubledQuotes) = (cells[cell].text, cells[cell].hasDoubledQuotes)
        guard hasDoubledQuotes else { return String(validating: source[range], as: UTF8.self) }
        var (bytes, isFirstOfTwo) = ([UInt8](), false)
        for byte in source[range] {
            isFirstOfTwo = byte == Self.quote && !isFirstOfTwo
            if !isFirstOfTwo { bytes.append(byte) }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    // MARK: Scanning

    private mutating func startCell(at start: Int) {
        cells.append(Cell(start: start, text: start..<start))
        state = .plain
    }

    private mutating func scan(from start: Int) {
        var at = start
        while at < source.count, fault == nil {
            switch state {
            case .plain: scanPlain(&at)
            case .quoted: scanQuoted(&at)
            case .behindQuote: scanBehindQuote(&at)
            }
        }
    }

    /// Reads a cell without quotes to its end, or finds its opening quote.
    private mutating func scanPlain(_ at: inout Int) {
        let (last, start) = (cells.count - 1, at)
        while at < source.count, source[at] != separator, source[at] != Self.quote { at += 1 }
        let isLineEnd = at == source.count && at > start && source[at - 1] == UInt8(ascii: "\r")
        cells[last].text = start..<(isLineEnd ? at - 1 : at)
        guard at < source.count else { return }
        if source[at] == separator {
            startCell(at: at + 1)
        } else if at == start {
            state = .quoted
        } else {
            fault = Fault(offset: at, rule: "a quote within a cell; put the cell in quotes and write this one twice")
        }
        at += 1
    }

    private mutating func scanQuoted(_ at: inout Int) {
        while at < source.count, source[at] != Self.quote { at += 1 }
        guard at < source.count else { return }
        let last = cells.count - 1
        cells[last].text = cells[last].start + 1..<at
        state = .behindQuote
        at += 1
    }

    /// Reads the byte after a quote, which was the first of two or the end of the cell.
    private mutating func scanBehindQuote(_ at: inout Int) {
        switch source[at] {
        case Self.quote:
            cells[cells.count - 1].hasDoubledQuotes = true
            state = .quoted
        case separator: startCell(at: at + 1)
        case UInt8(ascii: "\r") where at == source.count - 1: break
        default:
            fault = Fault(offset: at, rule: "text after the closing quote; write a quote within the cell twice")
        }
        at += 1
    }
}
