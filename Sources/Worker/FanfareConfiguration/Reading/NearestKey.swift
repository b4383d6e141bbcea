/// Finds the key or the command that a mistyped word was probably meant to be.
public enum NearestKey {
    /// The path whose last word has the smallest edit distance, if that is at most two or half the word's length; nil
    /// otherwise.
    public static func find(_ word: String, among paths: some Sequence<String>) -> String? {
        let ranked = paths.map { path in
            let last = path.utf8.split(separator: UInt8(ascii: ".")).last ?? path.utf8[...]
            return (path: path, distance: distance(Array(word.utf8), Array(last)))
        }
        guard let best = ranked.min(by: { ($0.distance, $0.path) < ($1.distance, $1.path) }) else { return nil }
        return best.distance <= max(2, word.utf8.count / 2) ? best.path : nil
    }

    /// Levenshtein distance in bytes. Words are cut at 128 bytes, which bounds the work.
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
