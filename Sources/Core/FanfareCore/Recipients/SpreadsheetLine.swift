/// What spreadsheets write into CSV besides cells.
public enum SpreadsheetLine {
    /// The separator that Excel's first line names: `sep=,`, `sep=;` or `sep=` and a tab, in quotes or not; nil for any other
    /// line.
    public static func separator(_ line: ArraySlice<UInt8>) -> UInt8? {
        var text = line
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        if text.first == UInt8(ascii: "\""), text.last == text.first, text.count == 7 {
            text = text.dropFirst().dropLast()
        }
        guard text.count == 5, let last = text.last, isSeparator(last) else { return nil }
        return String(decoding: text.dropLast(), as: UTF8.self).lowercased() == "sep=" ? last : nil
    }

    /// A line of a sheet with one filled column: its cell without the empty ones beside it; nil if all are empty.
    public static func cell(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let isText: (UInt8) -> Bool = { $0 > 0x20 && !isSeparator($0) }
        guard let start = line.firstIndex(where: isText), let end = line.lastIndex(where: isText) else { return nil }
        return line[start...end]
    }

    /// Whether a sheet's only cell of text is the header of a column of tokens, in quotes or not.
    public static func isHeader(_ cell: ArraySlice<UInt8>) -> Bool {
        cell.elementsEqual("token".utf8) || cell.elementsEqual("\"token\"".utf8)
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "\t")
    }
}
