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

    /// Maximum size of a row, bytes: a worker refuses a recipient of this size unread.
    static let longestRow = PersonalPreview.maximumElementBytes
    /// Finds the rule that a recipient breaks.
    typealias Check = (SharedText) -> EntryFault?

    private let name: String
    private var lines: FileLines
    private var form = Form.ndjson
    /// What separates the cells of CSV: a comma, unless the first line names another byte.
    private var separator = UInt8(ascii: ",")
    /// The first line of NDJSON, which was read to find the form.
    private var first: ArraySlice<UInt8>?
    private var isBroken = false
    private(set) var faults: LineFaults
    /// Checks each row; nil converts rows only.
    var check: Check?
    /// Finds the instant of each row's zone; nil where rows have none.
    private var instants: ZoneInstants?
    /// The instant of the last row, Unix milliseconds; 0 where rows have none.
    private(set) var instantMs: Int64 = 0
    /// Whether elements are bare tokens.
    private let isTokens: Bool

    private init(path: String, option: String, _ instants: ZoneInstants?, isTokens: Bool) throws {
        let purpose = FileLines.Purpose(
            option: option,
            longestLine: Self.longestRow,
            advice: "give one recipient per line"
        )
        lines = try FileLines(path: path, purpose)
        name = path == "-" ? "standard input" : path
        faults = LineFaults(path: path, isTokens ? .tokenRows : .recipients)
        (self.instants, self.isTokens) = (instants, isTokens)
    }

    /// Opens a file, and reads the header of CSV.
    /// - Parameters:
    ///   - path: the value of the option; `-` for standard input.
    ///   - instants: for rows with a zone, which sets ``instantMs``.
    ///   - isTokens: whether elements are bare tokens, from CSV.
    /// - Throws: the exit code for a file that cannot be read or has a wrong header.
    static func open(
        path: String,
        option: String = "--recipients-file",
        instants: ZoneInstants? = nil,
        isTokens: Bool = false
    ) throws -> RecipientFileReader {
        var reader = try RecipientFileReader(path: path, option: option, instants, isTokens: isTokens)
        try reader.readStart(path == "-" ? reader.name : option)
        return reader
    }

    /// Finds the form by the first byte that is not white space, and reads the header of CSV.
    /// - Parameter source: the file's name in errors.
    private mutating func readStart(_ source: String) throws {
        guard let line = try Self.nextLine(&lines) else {
            throw Outcome.usage.because("\(source): no recipients; give NDJSON, or CSV with a header")
        }
        switch LineReader.trimmed(line)?.first {
        case UInt8(ascii: "{"):
            guard !isTokens else {
                throw Outcome.usage.because(
                    "\(source): NDJSON; give CSV with the columns token and \(instants?.column ?? "zone"), or --recipients-file"
                )
            }
            first = line
        case UInt8(ascii: "["):
            throw Outcome.usage.because("\(name):\(lines.number): a JSON array; write one recipient per line")
        default:
            guard let header = try header(line) else {
                throw Outcome.usage.because("\(source): no recipients; give NDJSON, or CSV with a header")
            }
            do throws(CSVRecord.Fault) {
                form = .csv(try RecipientColumns(header: header, zone: instants?.column, isTokens: isTokens))
            } catch {
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
        _ = try header(line)
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
                let record = try record(line)
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

    /// The first record with text, without Excel's line `sep=,`, which names the separator; nil if there is none.
    private mutating func header(_ line: ArraySlice<UInt8>) throws -> CSVRecord? {
        var line = line
        if let named = SpreadsheetLine.separator(line) {
            separator = named
            guard let next = try Self.nextLine(&lines) else { return nil }
            line = next
        }
        var record = try record(line)
        while record.isBlank {
            guard let next = try Self.nextLine(&lines) else { return nil }
            record = try self.record(next)
        }
        return record
    }

    /// The record that begins with this line.
    private mutating func record(_ line: ArraySlice<UInt8>) throws -> CSVRecord {
        var record = CSVRecord(line, firstLine: lines.number, separator: separator)
        while record.isOpen {
            guard record.source.count <= Self.longestRow, let next = try lines.next() else {
                let place =
                    record.source.count > Self.longestRow ? "within \(Self.longestRow) bytes" : "before the file ends"
                record.abandon("the quote has no end \(place); write a quote within the cell twice")
                break
            }
            record.append(next)
        }
        return record
    }

    private mutating func checked(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        guard let text = LineReader.trimmed(line) else { return nil }
        var element = Array(text)
        if instants != nil {
            do throws(EntryFault) { element = try zoned(element) } catch {
                faults.add(line: lines.number, column: 1, error.rule)
                return nil
            }
        }
        guard let check, let fault = check(SharedText(element.indices, of: element)) else { return element }
        element = Array(text)
        let offset =
            fault.offset ?? JSONPlace.offset(of: fault.path, in: element) { Excerpt.plain($0) }
        // White space before the element has a byte a column.
        let column = offset.map {
            InputText(name: name, bytes: element).place(of: $0).column + text.startIndex - line.startIndex
        }
        faults.add(line: lines.number, column: column ?? 1, fault.path.isEmpty ? fault.rule : fault.reason)
        return nil
    }

    /// Reads the zone of a recipient, sets its instant, and returns the recipient without it. A text that is no JSON object
    /// stays as it is for the check, which names the byte.
    private mutating func zoned(_ element: [UInt8]) throws(EntryFault) -> [UInt8] {
        let limits = JSONLimits(maximumDepth: 64, maximumBytes: Self.longestRow)
        guard let zones = instants, var object = (try? JSONParser.parse(element, limits: limits))?.object else {
            // The check names the byte.
            if let check, check(SharedText(element.indices, of: element)) != nil { return element }
            throw EntryFault("", "not a JSON object")
        }
        guard let zone = object[zones.column]?.string, !zone.isEmpty else {
            throw EntryFault(
                zones.column,
                "no zone; give a member \"\(Excerpt.plain(zones.column))\" beside the token, such as \"Europe/Madrid\""
            )
        }
        try setInstant(zone)
        object[zones.column] = nil
        return JSONValue.object(object).jsonBytes
    }

    private mutating func setInstant(_ zone: String) throws(EntryFault) {
        guard var zones = instants else { return }
        instantMs = try zones.instantMs(in: zone)
        instants = zones
    }

    private mutating func checked(_ record: CSVRecord, _ columns: RecipientColumns) -> [UInt8]? {
        let fault: CSVRecord.Fault
        do throws(CSVRecord.Fault) {
            let element = isTokens ? try columns.token(of: record) : try columns.element(of: record)
            if let broken = check?(SharedText(element.indices, of: element)) {
                let column = columns.column(of: broken.path)
                fault = CSVRecord.Fault(offset: column.map { record.offset(of: $0) } ?? 0, rule: columns.reason(broken))
            } else if let zone = try columns.zone(of: record) {
                do throws(EntryFault) {
                    try setInstant(zone.name)
                    return element
                } catch { fault = CSVRecord.Fault(offset: zone.offset, rule: error.rule) }
            } else {
                return element
            }
        } catch { fault = error }
        // What follows a quote without an end is no row.
        isBroken = record.isAbandoned
        let place = InputText(name: name, bytes: record.source, firstLine: record.firstLine).place(of: fault.offset)
        faults.add(line: place.line, column: place.column, fault.rule)
        return nil
    }
}
