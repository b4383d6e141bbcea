/// What a peer may send before the stream is ended: everything in it is held in memory until its element is whole.
public struct XMLStreamLimits: Equatable, Sendable {
    /// Bytes of one child of the root, tags and text together.
    public var maxStanzaBytes: Int
    /// Elements within elements, the root included.
    public var maxDepth: Int
    /// Attributes of one element.
    public var maxAttributes: Int

    public init(maxStanzaBytes: Int = 65_536, maxDepth: Int = 16, maxAttributes: Int = 32) {
        self.maxStanzaBytes = maxStanzaBytes
        self.maxDepth = maxDepth
        self.maxAttributes = maxAttributes
    }
}
