/// Answers a message that FCM sent of its own accord: call one of the two, on the loop, now or later. After the connection
/// has ended neither has an effect: FCM sends the message again on another.
public struct XMPPReply {
    /// Acknowledges the message, which is stored, on the connection that carried it.
    public let acknowledge: () -> Void
    /// Refuses the message, which cannot be stored, by ending the connection. FCM sends it again only on another one, and
    /// stops sending on this one when too many messages are not acknowledged.
    public let giveBack: () -> Void
}
