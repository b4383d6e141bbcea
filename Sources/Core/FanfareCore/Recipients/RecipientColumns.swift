internal import FanfareJSON
internal import FanfareModel
internal import FanfareTemplate

/// The columns of a CSV file of recipients, as its header names them: `token` or `fid`, `variant`, and values.
public struct RecipientColumns: Sendable {
    /// The column of the token or installation id.
    private let recipient: Int
    private let variant: Int?
    /// The column of the zone, which is no value; nil unless it was asked for.
    private let zone: Int?
    /// The columns of values by their names, with the JSON text before each value.
    private let values: [(column: Int, name: String, start: [UInt8])]
    /// The columns without a name, which must have no text.
    private let nameless: [Int]
    /// The columns of the header up to the last one with a name; a row has as many cells, or more without text.
    private let count: Int
    /// `{"token":` or `{"fid":`.
    private let start: [UInt8]

    private static let tokenStart = Array("{\"token\":".utf8)
    private static let advice = "a value's name is \(PlaceholderName.pattern)"

    /// - Parameters:
    ///   - zoneName: the name of the column of the zone; nil for none.
    ///   - isTokens: whether only the token counts, and the zone.
    /// - Throws: the first broken rule of the header.
    public init(header: CSVRecord, zone zoneName: String? = nil, isTokens: Bool = false) throws(CSVRecord.Fault) {
        if let fault = header.fault { throw fault }
        var (recipient, kind, variant): (Int?, RecipientKind, Int?) = (nil, .token, nil)
        var zone: Int?
        var values: [(column: Int, name: String, start: [UInt8])] = []
        var names: Set<String> = []
        let named = (0..<header.count).filter { !header.isBlank($0) }
        for column in named {
            let name = try Self.name(column, header)
            let offset = header.offset(of: column)
            guard names.insert(name).inserted else {
                throw CSVRecord.Fault(
                    offset: offset,
                    rule: "the column \(Excerpt.plain(name)) is there twice; rename one"
                )
            }
            switch name {
            case zoneName: zone = column
            case _ where isTokens && name != "token": continue
            case "token", "fid":
                guard recipient == nil else {
                    throw CSVRecord.Fault(offset: offset, rule: "token and fid; give one of these columns")
                }
                (recipient, kind) = (column, name == "fid" ? .fid : .token)
            case "variant": variant = column
            default:
                try Self.check(name, values.count, at: offset)
                var start: [UInt8] = []
                start.appendJSONString(name)
                values.append((column, name, start + [UInt8(ascii: ":")]))
            }
        }
        guard let recipient else {
            throw CSVRecord.Fault(
                offset: 0,
                rule: "no column token\(isTokens ? "" : " or fid"); the header names the columns, separated by commas"
            )
        }
        if let zoneName, zone == nil {
            throw CSVRecord.Fault(
                offset: 0,
                rule: "no column \(Excerpt.plain(zoneName)); --zone-column names the column of the zone"
            )
        }
        (self.recipient, self.variant, self.values, self.zone) = (recipient, variant, values, zone)
        count = (named.last ?? 0) + 1
        nameless = (0..<count).filter { header.isBlank($0) }
        start = Array("{\"\(kind.rawValue)\":".utf8)
    }

    private static func name(_ column: Int, _ header: CSVRecord) throws(CSVRecord.Fault) -> String {
        guard let name = header.text(column) else {
            throw CSVRecord.Fault(offset: header.offset(of: column), rule: "the name is not UTF-8; \(advice)")
        }
        return name
    }

    private static func check(_ name: String, _ others: Int, at offset: Int) throws(CSVRecord.Fault) {
        guard PlaceholderName(Array(name.utf8)) != nil else {
            let hasOtherSeparator = name.contains(";") || name.contains("\t")
            let remedy = hasOtherSeparator ? "separate columns by commas" : advice
            throw CSVRecord.Fault(offset: offset, rule: "the column \"\(Excerpt.plain(name))\"; \(remedy)")
        }
        guard others < RecipientElement.maximumNames else {
            throw CSVRecord.Fault(
                offset: offset,
                rule: "more than \(RecipientElement.maximumNames) values; leave out columns that no placeholder names"
            )
        }
    }

    /// The recipient of a record as JSON.
    public func element(of record: CSVRecord) throws(CSVRecord.Fault) -> [UInt8] {
        if let fault = record.fault { throw fault }
        let excess = count < record.count ? (count..<record.count).first { !record.isBlank($0) } : nil
        guard record.count >= count, excess == nil else {
            let cells = "\(record.count) \(record.count == 1 ? "cell" : "cells")"
            throw CSVRecord.Fault(
                offset: excess.map { record.offset(of: $0) } ?? 0,
                rule: "\(cells), the header has \(count); put a cell with a comma in quotes"
            )
        }
        if let column = nameless.first(where: { !record.isBlank($0) }) {
            throw CSVRecord.Fault(
                offset: record.offset(of: column),
                rule: "text in a column without a name; name it in the header: \(Self.advice)"
            )
        }
        var json = start
        json.reserveCapacity(record.source.count + 16 * values.count + 32)
        json.appendJSONString(try text(recipient, record))
        if let variant, !record.isEmpty(variant) {
            json.append(contentsOf: #","variant":"#.utf8)
            json.appendJSONString(try text(variant, record))
        }
        // An empty cell is no value: the placeholder's fallback counts.
        var hasValues = false
        for value in values where !record.isEmpty(value.column) {
            json.append(contentsOf: (hasValues ? "," : #","vars":{"#).utf8)
            json.append(contentsOf: value.start)
            json.appendJSONString(try text(value.column, record))
            hasValues = true
        }
        json.append(contentsOf: (hasValues ? "}}" : "}").utf8)
        return json
    }

    /// Whether a recipient has nothing but its token.
    public var areTokens: Bool { values.isEmpty && variant == nil && start == Self.tokenStart }

    /// The zone of a record, and its byte; nil where no zone was asked for.
    public func zone(of record: CSVRecord) throws(CSVRecord.Fault) -> (name: String, offset: Int)? {
        guard let zone else { return nil }
        let offset = record.offset(of: zone)
        guard !record.isBlank(zone) else {
            throw CSVRecord.Fault(offset: offset, rule: "no zone; give a name such as Europe/Madrid")
        }
        return (try text(zone, record), offset)
    }

    /// The token of a record, without a check.
    public func token(of record: CSVRecord) throws(CSVRecord.Fault) -> [UInt8] {
        if let fault = record.fault { throw fault }
        guard record.count >= count else {
            throw CSVRecord.Fault(offset: 0, rule: "\(record.count) cells, the header has \(count)")
        }
        return Array(try text(recipient, record).utf8)
    }

    private func text(_ column: Int, _ record: CSVRecord) throws(CSVRecord.Fault) -> String {
        guard let text = record.text(column) else {
            throw CSVRecord.Fault(offset: record.offset(of: column), rule: "the cell is not UTF-8; convert the file")
        }
        return text
    }

    /// A recipient's fault as text. A value that every row lacks needs another header.
    public func reason(_ fault: EntryFault) -> String {
        guard !fault.path.isEmpty else { return fault.rule }
        let isUnknown = fault.path.hasPrefix("vars.") && column(of: fault.path) == nil
        return fault.reason + (isUnknown ? "; the header has no column \(fault.path.dropFirst(5))" : "")
    }

    /// The column to which a path within the recipient's JSON belongs; nil for the whole recipient.
    public func column(of path: String) -> Int? {
        switch path {
        case "token", "fid": recipient
        case "variant": variant
        default: values.first { path == "vars.\($0.name)" }?.column
        }
    }
}
