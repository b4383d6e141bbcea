/// Unsigned decimal numbers, digits only.
public enum DecimalText {
    public static func isDigits(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(\.isASCIIDigit)
    }

    /// Nil for anything but digits, and for numbers beyond 64 bits.
    public static func parse(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }
}

extension [UInt8] {
    /// Appends a number in decimal digits, without a `String` in between.
    public mutating func appendDecimal(_ number: Int64) {
        guard number >= 0 else { return append(contentsOf: String(number).utf8) }
        // Most numbers are small.
        guard number >= 1_000 else {
            if number >= 100 { append(UInt8(ascii: "0") + UInt8(number / 100)) }
            if number >= 10 { append(UInt8(ascii: "0") + UInt8(number / 10 % 10)) }
            return append(UInt8(ascii: "0") + UInt8(number % 10))
        }
        var (count, limit) = (2, Int64(100))
        // Up to 18 digits: the next limit would overflow.
        while count < 18, number >= limit { (count, limit) = (count + 1, limit * 10) }
        guard number < limit else { return append(contentsOf: String(number).utf8) }
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: count))
        var (rest, at) = (number, self.count - 1)
        while rest > 0 {
            self[at] += UInt8(rest % 10)
            (rest, at) = (rest / 10, at - 1)
        }
    }
}
