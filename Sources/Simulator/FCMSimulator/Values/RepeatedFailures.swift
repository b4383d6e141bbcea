/// Counts the failures of names that fail a given number of times and then succeed.
struct RepeatedFailures: Equatable, Sendable {
    /// By the hash of the name.
    private var counts: [UInt64: Int] = [:]

    /// True for the first `times` calls with `name`.
    mutating func fails(_ name: String, times: Int) -> Bool {
        guard times > 0 else { return false }
        let hash = TokenHash.of(name)
        let soFar = counts[hash] ?? 0
        guard soFar < times else { return false }
        counts[hash] = soFar + 1
        return true
    }
}
