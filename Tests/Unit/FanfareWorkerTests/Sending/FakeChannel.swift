import FCMWire
import FanfareModel

@testable import FanfareWorker

/// A channel that records its requests and is answered by hand.
final class FakeChannel: RequestChannel {
    var freeSlots = 3
    var openConnections = 2
    var onCompletion: (Int, RequestOutcome) -> Void = { _, _ in }
    var onRoom: () -> Void = {}
    private(set) var sent: [(tag: Int, request: WireRequest)] = []
    private(set) var isClosed = false

    func send(tag: Int, _ request: WireRequest) { sent.append((tag, request)) }
    func close() { isClosed = true }
}
