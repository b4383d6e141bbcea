/// Limits beyond which a peer's stream is ended: everything in it is held in memory until its element is whole.
public struct XMLStreamLimits: Equatable, Sendable {
    /// Bytes of one child of the root, tags and text together; also of what may stand before the root or between two
    /// children.
    public var maximumStanzaBytes: Int
    /// Elements within elements, the root included.
    public var maximumDepth: Int
    /// Attributes of one element.
    public var maximumAttributes: Int
    /// Bytes of one tag or comment. Small, because expat reads an unfinished one from its start again with each piece.
    public var maximumTagBytes: Int

    public init(
        maximumStanzaBytes: Int = 65_536,
        maximumDepth: Int = 16,
        maximumAttributes: Int = 32,
        maximumTagBytes: Int = 8_192
    ) {
        self.maximumStanzaBytes = maximumStanzaBytes
        self.maximumDepth = maximumDepth
        self.maximumAttributes = maximumAttributes
        self.maximumTagBytes = maximumTagBytes
    }
}
