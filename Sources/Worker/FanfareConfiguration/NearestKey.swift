/// Finds what a mistyped key was meant to be.
enum NearestKey {
    /// The candidate with the least edit distance, if it is near enough to be a likely slip.
    static func find(_ word: String, among candidates: some Sequence<String>) -> String? {
        let ranked = candidates.map { (name: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }
        guard let best = ranked.min(by: { ($0.distance, $0.name) < ($1.distance, $1.name) }) else { return nil }
        return best.distance <= max(2, word.utf8.count / 2) ? best.name : nil
    }

    /// Single-byte insertions, deletions and replacements between the two. Words are cut at 128 bytes: a key that long
    /// is nobody's slip.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        let a = a.prefix(128)
        let b = b.prefix(128)
        var previous = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var row = [i + 1]
            for (j, right) in b.enumerated() {
                row.append(min(previous[j + 1] + 1, row[j] + 1, previous[j] + (left == right ? 0 : 1)))
            }
            previous = row
        }
        return previous[b.count]
    }
}
