/// Reads percent-encoded text (RFC 3986).
public enum PercentDecoding {
    /// The decoded bytes; nil where two hexadecimal digits do not follow a `%`.
    ///
    /// - Parameter plusIsSpace: whether `+` stands for a blank, as in HTML forms.
    public static func bytes(of text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexDigitValue, let low = rest.next()?.hexDigitValue else { return nil }
                result.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: result.append(UInt8(ascii: " "))
            default: result.append(byte)
            }
        }
        return result
    }
}
