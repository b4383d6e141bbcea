/// Acknowledgements on one connection: the owed ones, and the last ones sent, in case FCM refuses one.
struct XMPPAckBook: Equatable {
    struct Ack: Equatable {
        var to: String
        var messageID: String
        /// Sent a second time after FCM refused it.
        var isRepeated = false
    }

    /// Messages of FCM that may be unacknowledged at most. FCM stops far earlier.
    static let maximumOwed = 1_000
    private static let maximumRemembered = 1_000

    private var owed: [UInt64: Ack] = [:]
    private var nextReceipt: UInt64 = 1
    private var sent: [String: Ack] = [:]
    private var order: [String] = []

    var isEmpty: Bool { owed.isEmpty }
    var isFull: Bool { owed.count >= Self.maximumOwed }

    /// - Returns: the receipt for ``acknowledge(_:)``.
    mutating func owe(to: String, messageID: String) -> UInt64 {
        defer { nextReceipt += 1 }
        owed[nextReceipt] = Ack(to: to, messageID: messageID)
        return nextReceipt
    }

    /// - Returns: nil when it was acknowledged before.
    mutating func acknowledge(_ receipt: UInt64) -> Ack? {
        guard let ack = owed.removeValue(forKey: receipt) else { return nil }
        if sent.updateValue(ack, forKey: ack.messageID) == nil {
            order.append(ack.messageID)
            if order.count > 2 * Self.maximumRemembered {
                for old in order.prefix(Self.maximumRemembered) { sent[old] = nil }
                order.removeFirst(Self.maximumRemembered)
            }
        }
        return ack
    }

    /// FCM could not read the acknowledgement of that message.
    ///
    /// - Returns: the acknowledgement to repeat; nil when it was repeated before, or is not remembered.
    mutating func refused(_ messageID: String) -> Ack? {
        guard let ack = sent[messageID], !ack.isRepeated else { return nil }
        sent[messageID]?.isRepeated = true
        return ack
    }
}
