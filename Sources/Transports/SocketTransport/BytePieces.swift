/// Bytes that are made piece by piece, as the wire takes them.
public protocol BytePieces {
    /// True when no byte is left.
    var isOver: Bool { get }
    /// Bytes by which a piece may exceed `most`.
    static var overrun: Int { get }
    /// Appends the next piece, until `output` has `most` bytes or up to ``overrun`` more.
    mutating func append(to output: inout [UInt8], most: Int)
}
