internal import FCMWire
internal import FanfareModel

/// The way of a project's requests on one route, with the credential that they need there. An answer has the tag of its
/// request.
protocol RequestChannel: AnyObject {
    /// Requests that it takes now.
    var freeSlots: Int { get }
    var openConnections: Int { get }
    var onCompletion: (_ tag: Int, RequestOutcome) -> Void { get set }
    /// Called after completions that came together: what is sent from here does not wait for the rest of the turn.
    var onRoom: () -> Void { get set }

    func send(tag: Int, _ request: WireRequest)
    func close()
}
