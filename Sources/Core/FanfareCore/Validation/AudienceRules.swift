/// Checks the Redis key of an audience: it has to be in the project's slot, and not one of Fanfare's keys.
struct AudienceRules: Equatable, Sendable {
    static let keyLength = 1_024

    /// `{p}`.
    let projectKeyTag: String
    let prefix: String

    func key(_ bytes: [UInt8]) throws(EntryFault) -> String {
        let path = EntryField.audience.rawValue
        let key = try TextRules.name(bytes, most: Self.keyLength, at: path)
        let isOfProject = hashTag(bytes).map { projectKeyTag.utf8.elementsEqual($0) } ?? false
        try require(isOfProject, path, "its hash tag must be \(projectKeyTag)")
        try require(!bytes.starts(with: Array("\(prefix):".utf8)), path, "must not start with \(prefix):")
        return key
    }

    /// The part that Redis Cluster hashes, with its braces: from the first `{` to the first `}` after it, unless there
    /// is nothing between them.
    private func hashTag(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard let open = bytes.firstIndex(of: UInt8(ascii: "{")),
            let close = bytes[open...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return nil }
        return bytes[open...close]
    }
}
