/// Text made fit to stand in a document.
public enum XMLText {
    /// Appends bytes of UTF-8 as character data or inside a quoted attribute: what has a meaning in XML is written as a
    /// reference. Characters that no document may hold (C0 controls but tab, line feed and carriage return) become
    /// U+FFFD.
    public static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&apos;".utf8)
            // A parser would fold these into line feeds or blanks.
            case 0x09, 0x0A, 0x0D: bytes.append(contentsOf: "&#\(byte);".utf8)
            case 0x00..<0x20: bytes.append(contentsOf: "\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
    }

    public static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text.utf8, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
