public import EventLoop
public import FCMWire
public import FanfareModel

/// Messages to FCM over as many XMPP connections as their number asks for, and what FCM sends of its own accord.
///
/// Loop-confined: made, used and closed on the loop's thread. Every message that ``send(tag:messageID:json:)`` takes
/// gets exactly one outcome; none is ever sent again by the pool. Nothing below is called from within a call into the
/// pool but ``close()``: all of it comes at the end of a turn.
public final class XMPPPool {
    /// A message's tag and what became of it. It may send.
    public var onCompletion: (UInt64, RequestOutcome) -> Void = { _, _ in }
    /// An upstream message or a receipt. The second argument acknowledges it, on the connection that carried it if
    /// that is still there; without it FCM sends it again on another connection. To be called on the loop, once.
    public var onIncoming: (XMPPIncoming, _ acknowledge: @escaping () -> Void) -> Void = { _, _ in }
    /// Asked before each new connection; has to be answered, on the loop, at once or later.
    public var leaveToConnect: (@escaping (Bool) -> Void) -> Void = { $0(true) }
    /// How many connections are open or opening, whenever that changed.
    public var onConnections: (Int) -> Void = { _ in }
    /// FCM refused the sender id or the key, and why.
    public var onRefusedCredential: (String) -> Void = { _ in }

    private var isClosed = false

    /// - Parameter random: in 0..<1, spreads the reconnects.
    public init(
        loop: EventLoop,
        configuration: XMPPConfiguration,
        random: @escaping () -> Double = { Double.random(in: 0..<1) }
    ) {}

    deinit { assert(isClosed, "closed on the loop first") }

    /// How many more messages will be taken now.
    public var freeSlots: Int { 0 }
    /// Messages taken and not answered yet, those that wait for a connection included.
    public var inFlight: Int { 0 }
    /// True when every message has had its outcome.
    public var isIdle: Bool { true }

    /// Takes a message. Beyond ``freeSlots`` its outcome is `.unsent`.
    ///
    /// - Parameters:
    ///   - messageID: the `message_id` in `json`; an answer is known by it. Unique among those in flight.
    ///   - json: what `<gcm>` holds, not yet escaped for XML.
    public func send(tag: UInt64, messageID: String, json: [UInt8]) {}

    /// Ends everything: what is still under way gets its outcome from within this call. The last call.
    public func close() { isClosed = true }
}
