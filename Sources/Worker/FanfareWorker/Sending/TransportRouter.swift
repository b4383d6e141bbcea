internal import FCMWire
internal import FanfareCore
internal import FanfareModel

/// Routes a project's requests: a channel for each route.
final class TransportRouter {
    private var channels = [(any RequestChannel)?](repeating: nil, count: Route.most)

    var onCompletion: (Int, RequestOutcome) -> Void = { _, _ in }
    /// Called when a channel has room again, once for completions that came together.
    var onRoom: () -> Void = {}

    /// Adds the channel of a route.
    ///
    /// - Parameter observe: is told each outcome before ``onCompletion``.
    func add(_ channel: any RequestChannel, for route: Route, observe: @escaping (RequestOutcome) -> Void) {
        channels[route.number] = channel
        channel.onCompletion = { [weak self] tag, outcome in
            observe(outcome)
            self?.onCompletion(tag, outcome)
        }
        channel.onRoom = { [weak self] in self?.onRoom() }
    }

    /// Requests that each route accepts now.
    var room: SendMachine.Room {
        var room: SendMachine.Room = [:]
        for (number, channel) in channels.enumerated() {
            if let channel { room[Route(number)] = channel.freeSlots }
        }
        return room
    }

    /// Open connections on these routes.
    func openConnections(_ isWanted: (Route) -> Bool) -> Int {
        channels.indices.reduce(0) { $0 + (isWanted(Route($1)) ? channels[$1]?.openConnections ?? 0 : 0) }
    }

    func send(tag: Int, _ request: WireRequest) {
        guard let channel = channels[request.route.number] else {
            return onCompletion(tag, .unsent(reason: "the project has no channel for this request"))
        }
        channel.send(tag: tag, request)
    }

    func close() { for channel in channels { channel?.close() } }
}
