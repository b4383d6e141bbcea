/// A text to find in many longer ones (Boyer–Moore–Horspool): a search reads about one byte in `pattern.count`.
struct BytePattern {
    private let pattern: [UInt8]
    /// How far the pattern may move when its last byte stands above this one.
    private let shifts: [Int]

    init(_ text: some Sequence<UInt8>) {
        pattern = Array(text)
        var shifts = [Int](repeating: max(1, pattern.count), count: 256)
        for (index, byte) in pattern.enumerated().dropLast() { shifts[Int(byte)] = pattern.count - 1 - index }
        self.shifts = shifts
    }

    /// Whether the pattern stands anywhere in `text`. An empty pattern stands in every text.
    func occurs(in text: [UInt8]) -> Bool {
        guard let last = pattern.last else { return true }
        var end = pattern.count - 1
        while end < text.count {
            let byte = text[end]
            if byte == last, text[(end + 1 - pattern.count)...end].elementsEqual(pattern) { return true }
            end += shifts[Int(byte)]
        }
        return false
    }
}
