/// The grammar of a project's id, which becomes part of Redis keys and of URLs.
public enum ProjectID {
    public static let pattern = "[a-z0-9][a-z0-9-]{0,62}"

    public static func isValid(_ id: String) -> Bool {
        let bytes = id.utf8
        guard let first = bytes.first, bytes.count <= 63, first != UInt8(ascii: "-") else { return false }
        return bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
