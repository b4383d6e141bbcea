/// Assertions whose signature was checked, by their digest: a request with one of them needs no arithmetic of RSA.
///
/// Memory is bounded: there are two halves, and the older one is dropped when the newer one is full. What is dropped is
/// checked again.
struct AssertionMemory: Sendable {
    struct Entry: Equatable, Sendable {
        /// The key that signed, by name.
        let key: String
        /// Unix seconds between which it is accepted.
        let lifetime: ClosedRange<Int64>
    }

    static let maximumEntries = 8_192

    private var newer: [KeyDigest: Entry] = [:]
    private var older: [KeyDigest: Entry] = [:]

    var count: Int { newer.count + older.count }

    func find(_ digest: KeyDigest) -> Entry? { newer[digest] ?? older[digest] }

    mutating func add(_ entry: Entry, at digest: KeyDigest) {
        if newer.count >= Self.maximumEntries / 2 { (older, newer) = (newer, [:]) }
        newer[digest] = entry
    }

    /// Forgets the assertions of keys.
    mutating func remove(where isRemoved: (_ key: String) -> Bool) {
        newer = newer.filter { !isRemoved($0.value.key) }
        older = older.filter { !isRemoved($0.value.key) }
    }
}
