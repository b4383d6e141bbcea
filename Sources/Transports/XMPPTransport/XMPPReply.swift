/// How to answer what FCM sent of its own accord: one of the two, on the loop, now or later. On a connection that is gone
/// neither does anything: FCM sends it again on another.
public struct XMPPReply {
    /// It is safe. Told to FCM on the connection that carried it.
    public let acknowledge: () -> Void
    /// It cannot be kept, not even until later. FCM sends it again only on another connection, and nothing more on this
    /// one when too much of it is not acknowledged: so the connection ends.
    public let giveBack: () -> Void
}
