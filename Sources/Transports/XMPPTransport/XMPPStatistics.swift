/// Counts since a pool was made.
public struct XMPPStatistics: Equatable, Sendable {
    /// Open or opening now.
    public var connections = 0
    /// Connections that are ready for messages.
    public var ready = 0
    /// Connections that became ready since the beginning.
    public var opened = 0
    /// Connections that failed, before they were ready or after.
    public var lost = 0
    public var answered = 0
    public var unsent = 0
    public var refused = 0
    public var ambiguous = 0
    public var incoming = 0
    /// Acknowledgements of ours that FCM could not read.
    public var badAcks = 0
    /// Errors that named no message.
    public var strayErrors = 0

    public init() {}
}
