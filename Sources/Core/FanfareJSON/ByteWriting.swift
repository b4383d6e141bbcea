/// Parts of texts for the wire, appended without making a text of each first: every send writes a dozen of them.
extension [UInt8] {
    public mutating func append(literal: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }
}
