/// Limits beyond which a peer's stream is ended: everything in it is held in memory until its element is whole.
public struct XMLStreamLimits: Equatable, Sendable {
    /// Bytes of one child of the root, tags and text together; also of what may stand before the root or between two
    /// children.
    public var maxStanzaBytes: Int
    /// Elements within elements, the root included.
    public var maxDepth: Int
    /// Attributes of one element.
    public var maxAttributes: Int
    /// Bytes of one tag or comment. Small, because expat reads an unfinished one from its start again with each piece.
    public var maxTagBytes: Int

    public init(maxStanzaBytes: Int = 65_536, maxDepth: Int = 16, maxAttributes: Int = 32, maxTagBytes: Int = 8_192) {
        self.maxStanzaBytes = maxStanzaBytes
        self.maxDepth = maxDepth
        self.maxAttributes = maxAttributes
        self.maxTagBytes = maxTagBytes
    }
}
