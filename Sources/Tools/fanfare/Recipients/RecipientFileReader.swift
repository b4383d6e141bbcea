internal import ArgumentParser
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel

/// Reads the recipients of a personal job from NDJSON or CSV, and checks each as a worker does. Holds one row at a time.
struct RecipientFileReader: ~Copyable {
    private enum Form {
        case ndjson
        case csv(RecipientColumns)
    }

    /// Bytes of a row, at most: those of a recipient at which a worker refuses it unread.
    static let longestRow = PersonalPreview.mostElementBytes
    private static let purpose = FileLines.Purpose(
        option: "--recipients-file",
        longestLine: longestRow,
        advice: "give one recipient per line"
    )

    private let name: String
    private var lines: FileLines
    private var form = Form.ndjson
    /// The first line of NDJSON, which was read to find the form.
    private var first: ArraySlice<UInt8>?
    private var isBroken = false
    private(set) var faults: LineFaults
    /// Checks each row; nil converts rows only.
    var preview: PersonalPreview?

    private init(path: String) throws {
        lines = try FileLines(path: path, Self.purpose)
        name = path == "-" ? "standard input" : path
        faults = LineFaults(path: path, .recipients)
    }

    /// Opens a file, and reads the header of CSV.
    /// - Parameter path: the value of `--recipients-file`; `-` for standard input.
    /// - Throws: the exit code for a file that cannot be read or has a wrong header.
    static func open(path: String) throws -> RecipientFileReader {
        var reader = try RecipientFileReader(path: path)
        try reader.readStart(path == "-" ? reader.name : "--recipients-file")
        return reader
    }

    /// Finds the form by the first byte that is not white space, and reads the header of CSV.
    /// - Parameter source: the file's name in errors.
    private mutating func readStart(_ source: String) throws {
        guard let line = try Self.nextLine(&lines) else {
            throw Outcome.usage.because("\(source): no recipients; give NDJSON, or CSV with a header")
        }
        switch LineReader.trimmed(line)?.first {
        case UInt8(ascii: "{"): first = line
        case UInt8(ascii: "["):
            throw Outcome.usage.because("\(name):\(lines.number): a JSON array; write one recipient per line")
        default:
            guard let header = try Self.header(line, &lines) else {
                throw Outcome.usage.because("\(source): no recipients; give NDJSON, or CSV with a header")
            }
            do throws(CSVRecord.Fault) { form = .csv(try RecipientColumns(header: header)) } catch {
                let place = InputText(name: name, bytes: header.source, firstLine: header.firstLine)
                    .place(of: error.offset)
                throw Outcome.usage.because("\(name):\(place.line):\(place.column): \(error.rule)")
            }
        }
    }

    var canRewind: Bool { lines.canRewind }

    /// Starts over at the first recipient.
    mutating func rewind() throws {
        try lines.rewind()
        (first, isBroken) = (nil, false)
        guard case .csv = form, let line = try Self.nextLine(&lines) else { return }
        _ = try Self.header(line, &lines)
    }

    /// The next recipient as JSON; nil at the end, and once too many rows break a rule. Leaves out rows that break a rule,
    /// and collects them as ``faults``.
    mutating func next() throws -> [UInt8]? {
        while !faults.isFull, !isBroken, let line = try first ?? Self.nextLine(&lines) {
            first = nil
            let element: [UInt8]?
            switch form {
            case .ndjson: element = checked(line)
            case .csv(let columns):
                let record = try Self.record(line, &lines)
                element = record.isBlank ? nil : checked(record, columns)
            }
            if let element { return element }
        }
        return nil
    }

    /// Reads and checks the other rows.
    mutating func checkRest() throws {
        while try next() != nil {}
    }

    // MARK: Rows

    private static func nextLine(_ lines: inout FileLines) throws -> ArraySlice<UInt8>? {
        while let line = try lines.next() {
            if line.contains(where: { $0 > 0x20 }) { return line }
        }
        return nil
    }

    /// The first record with text, without Excel's line `sep=,`; nil if there is none.
    private static func header(_ line: ArraySlice<UInt8>, _ lines: inout FileLines) throws -> CSVRecord? {
        var line = line
        let start = String(decoding: LineReader.trimmed(line) ?? [], as: UTF8.self).lowercased()
        if start == "sep=," || start == "\"sep=,\"" {
            guard let next = try nextLine(&lines) else { return nil }
            line = next
        }
        var record = try record(line, &lines)
        while record.isBlank {
            guard let next = try nextLine(&lines) else { return nil }
            record = try Self.record(next, &lines)
        }
        return record
    }

    /// The record that begins with this line.
    private static func record(_ line: ArraySlice<UInt8>, _ lines: inout FileLines) throws -> CSVRecord {
        var record = CSVRecord(line, firstLine: lines.number)
        while record.isOpen {
            guard record.source.count <= longestRow, let next = try lines.next() else {
                let place = record.source.count > longestRow ? "within \(longestRow) bytes" : "before the file ends"
                record.abandon("the quote has no end \(place); write a quote within the cell twice")
                break
            }
            record.append(next)
        }
        return record
    }

    private mutating func checked(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        guard let text = LineReader.trimmed(line) else { return nil }
        let element = Array(text)
        guard let preview, let fault = preview.fault(of: SharedText(element.indices, of: element)) else {
            return element
        }
        let offset =
            fault.offset ?? JSONPlace.offset(of: fault.path, in: element) { Excerpt.plain($0) }
        // White space before the element has a byte a column.
        let column = offset.map {
            InputText(name: name, bytes: element).place(of: $0).column + text.startIndex - line.startIndex
        }
        faults.add(line: lines.number, column: column ?? 1, fault.path.isEmpty ? fault.rule : fault.reason)
        return nil
    }

    private mutating func checked(_ record: CSVRecord, _ columns: RecipientColumns) -> [UInt8]? {
        let fault: CSVRecord.Fault
        do throws(CSVRecord.Fault) {
            let element = try columns.element(of: record)
            guard let broken = preview?.fault(of: SharedText(element.indices, of: element)) else { return element }
            let column = columns.column(of: broken.path)
            fault = CSVRecord.Fault(offset: column.map { record.offset(of: $0) } ?? 0, rule: columns.reason(broken))
        } catch { fault = error }
        // What follows a quote without an end is no row.
        isBroken = record.isAbandoned
        let place = InputText(name: name, bytes: record.source, firstLine: record.firstLine).place(of: fault.offset)
        faults.add(line: place.line, column: place.column, fault.rule)
        return nil
    }
}
