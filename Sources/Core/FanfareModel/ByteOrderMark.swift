/// The byte order mark of UTF-8, which some editors write at the start of a text file. It is no part of the text.
public enum ByteOrderMark {
    public static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes of a text file without the mark.
    public static func removed<Bytes: Collection<UInt8>>(from file: Bytes) -> Bytes.SubSequence {
        file.starts(with: utf8) ? file.dropFirst(utf8.count) : file[...]
    }
}
