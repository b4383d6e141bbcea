/// Our acknowledgements on one connection: those that are owed, and the last ones given, in case FCM refuses one.
struct XMPPAckBook: Equatable {
    struct Debt: Equatable {
        var to: String
        var messageID: String
    }

    /// What FCM may send without an acknowledgement of any of it. FCM stops far earlier.
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

    /// - Returns: what to name it by when it is to be acknowledged.
    mutating func owe(to: String, messageID: String) -> UInt64 {
        defer { nextReceipt += 1 }
        owed[nextReceipt] = Debt(to: to, messageID: messageID)
        return nextReceipt
    }

    /// - Returns: nil when it was acknowledged before.
    mutating func give(_ receipt: UInt64) -> Debt? {
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
    /// - Returns: what to acknowledge once more; nil when that was done before, or nothing of the kind is remembered.
    mutating func refused(_ messageID: String) -> Debt? {
        guard let ack = given[messageID], !ack.isRepeated else { return nil }
        given[messageID] = (ack.to, true)
        return Debt(to: ack.to, messageID: messageID)
    }
}
