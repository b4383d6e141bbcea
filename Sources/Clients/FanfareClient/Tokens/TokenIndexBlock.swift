internal import FanfareModel
internal import StreamWire

/// A block of the index of `results` by token: the fingerprints of the entries after the previous block, up to its id.
struct TokenIndexBlock {
    let id: String
    /// Entries of `results`.
    let entries: Int64
    private let prints: [UInt8]

    /// nil if no worker wrote it.
    init?(_ entry: StreamEntry) {
        guard let prints = entry["prints"], let entries = entry.text("entries").flatMap({ Int64($0) }),
            (1...1_000_000).contains(entries), prints.count.isMultiple(of: TokenFingerprint.byteCount)
        else { return nil }
        id = entry.id
        self.entries = entries
        self.prints = prints
    }

    /// Whether an entry of the block may hold the token; false positives are one in 16 million results.
    func mayHold(_ fingerprint: TokenFingerprint) -> Bool { fingerprint.isIn(prints) }

    /// The id just after an entry's; nil after the last possible one.
    static func successor(of id: String) -> String? {
        let parts = id.split(separator: "-").compactMap { UInt64($0) }
        guard parts.count == 2 else { return nil }
        if parts[1] < .max { return "\(parts[0])-\(parts[1] + 1)" }
        return parts[0] < .max ? "\(parts[0] + 1)-0" : nil
    }
}
