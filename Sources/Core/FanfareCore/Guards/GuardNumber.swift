internal import FanfareModel

/// Reads the whole numbers of guards, with the errors of ``EntryFields/number(_:in:)``.
enum GuardNumber {
    /// - Throws: when the value has other characters than digits, or is outside the range.
    static func parse(
        _ value: [UInt8],
        in range: ClosedRange<Int64>,
        at path: String
    ) throws(EntryFault) -> Int64 {
        try require(DecimalText.isDigits(value), path, "\(Excerpt.quoted(value)) is not a whole number")
        // A number beyond 64 bits is out of every range.
        guard let number = DecimalText.parse(value), range.contains(number) else {
            let text = Excerpt.plain(String(decoding: value, as: UTF8.self))
            throw EntryFault(path, "\(text) is not \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
