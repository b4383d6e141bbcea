internal import FCMWire
internal import FanfareModel
internal import XMPPTransport

/// Messages over the connections of a project to FCM's XMPP server, which log in with its key.
final class XMPPChannel: RequestChannel {
    let pool: XMPPPool

    var onCompletion: (Int, RequestOutcome) -> Void = { _, _ in }
    var onRoom: () -> Void = {}

    init(_ pool: XMPPPool) {
        self.pool = pool
        pool.onCompletion = { [weak self] tag, outcome in self?.onCompletion(Int(tag), outcome) }
        pool.onRoom = { [weak self] in self?.onRoom() }
    }

    var freeSlots: Int { pool.freeSlots }
    var openConnections: Int { pool.readyConnections }

    func send(tag: Int, _ request: WireRequest) {
        pool.send(tag: UInt64(tag), messageID: request.messageID, to: request.recipient, json: request.body)
    }

    func close() { pool.close() }
}
