/// Acknowledgements on one connection: those that are owed, and the last ones sent, in case FCM refuses one.
struct XMPPAckBook: Equatable {
    struct Debt: Equatable {
        var to: String
        var messageID: String
    }

    /// Messages of FCM that may be unacknowledged at most. FCM stops far earlier.
    static let mostOwed = 1_000
    private static let mostRemembered = 1_000

    private var owed: [UInt64: Debt] = [:]
    private var nextReceipt: UInt64 = 1
    private var given: [String: (to: String, isRepeated: Bool)] = [:]
    private var order: [String] = []

    var isEmpty: Bool { owed.isEmpty }
    var isFull: Bool { owed.count >= Self.mostOwed }

    static func == (left: Self, right: Self) -> Bool {
        left.owed == right.owed && left.nextReceipt == right.nextReceipt && left.order == right.order
    }

    /// - Returns: the receipt for ``acknowledge(_:)``.
    mutating func owe(to: String, messageID: String) -> UInt64 {
        defer { nextReceipt += 1 }
        owed[nextReceipt] = Debt(to: to, messageID: messageID)
        return nextReceipt
    }

    /// - Returns: nil when it was acknowledged before.
    mutating func acknowledge(_ receipt: UInt64) -> Debt? {
        guard let debt = owed.removeValue(forKey: receipt) else { return nil }
        if given.updateValue((debt.to, false), forKey: debt.messageID) == nil {
            order.append(debt.messageID)
            if order.count > 2 * Self.mostRemembered {
                for old in order.prefix(Self.mostRemembered) { given[old] = nil }
                order.removeFirst(Self.mostRemembered)
            }
        }
        return debt
    }

    /// FCM could not read the acknowledgement of that message.
    ///
    /// - Returns: the acknowledgement to repeat; nil when it was repeated before, or is not remembered.
    mutating func refused(_ messageID: String) -> Debt? {
        guard let ack = given[messageID], !ack.isRepeated else { return nil }
        given[messageID] = (ack.to, true)
        return Debt(to: ack.to, messageID: messageID)
    }
}
