internal import CurlTransport
internal import EventLoop
internal import FanfareModel
internal import XMPPTransport

/// The ways out of a project: the lanes to FCM, those to Instance ID, and the connections of XMPP. An answer comes back
/// with the tag of its request, whichever way it took.
final class TransportRouter {
    private let fcm: LanePool
    private let instanceID: LanePool
    let xmpp: XMPPPool?
    private let project: WorkerConfiguration.Project
    private let sendURL: String
    private let timeoutMs: Int64

    var onCompletion: (Int, RequestOutcome) -> Void = { _, _ in }
    /// Called after completions that came together: what is sent from here does not wait for the rest of the turn.
    var onRoom: () -> Void = {}

    init(loop: EventLoop, origin: OriginConfiguration, project: ProjectContext, credentialProject: String?) {
        fcm = LanePool(loop: loop, configuration: origin)
        instanceID = LanePool(loop: loop, configuration: origin)
        self.project = project.project
        timeoutMs = project.configuration.requestTimeoutMs
        sendURL = FCMEndpoint.sendURL(
            origin: project.project.endpoint,
            project: project.project.id,
            transport: project.project.transport,
            credentialProject: credentialProject
        )
        if project.project.transport == .xmpp {
            var way = XMPPConfiguration(
                host: project.project.xmppHost,
                port: project.project.xmppPort,
                caFile: project.configuration.caFile,
                senderID: project.project.senderID ?? "",
                serverKey: project.project.serverKey ?? ""
            )
            way.mostConnections = max(1, (project.configuration.maxInFlight + way.window - 1) / way.window)
            xmpp = XMPPPool(loop: loop, configuration: way)
        } else {
            xmpp = nil
        }
        fcm.onCompletion = { [weak self] tag, outcome in self?.onCompletion(Int(tag), outcome) }
        instanceID.onCompletion = { [weak self] tag, outcome in self?.onCompletion(Int(tag), outcome) }
        xmpp?.onCompletion = { [weak self] tag, outcome in self?.onCompletion(Int(tag), outcome) }
        fcm.onRoom = { [weak self] in self?.onRoom() }
        instanceID.onRoom = { [weak self] in self?.onRoom() }
        xmpp?.onRoom = { [weak self] in self?.onRoom() }
    }

    /// Connections that take messages, and those that only management uses.
    var openConnections: (sends: Int, management: Int) {
        let lanes = fcm.statistics.lanes
        let other = instanceID.statistics.lanes
        return xmpp.map { ($0.statistics.ready, lanes + other) } ?? (lanes, other)
    }

    func freeSlots(_ route: ProtocolAdapter.Route) -> Int {
        switch route {
        case .fcm: return fcm.freeSlots
        case .instanceID: return instanceID.freeSlots
        case .xmpp: return xmpp?.freeSlots ?? 0
        }
    }

    /// - Parameters:
    ///   - headers: for the lanes; XMPP has logged in.
    ///   - messageID: for XMPP, unique in the process.
    func send(
        _ request: ProtocolAdapter.Request,
        tag: Int,
        route: ProtocolAdapter.Route,
        headers: [String],
        messageID: String
    ) {
        if route == .xmpp, let xmpp { return xmpp.send(tag: UInt64(tag), messageID: messageID, json: request.body) }
        let isSend = request.path.isEmpty
        let origin = route == .instanceID ? project.iidEndpoint : project.endpoint
        let request = HTTPRequest(
            tag: UInt64(tag),
            method: request.method,
            url: isSend ? sendURL : FCMEndpoint.url(origin: origin, path: request.path),
            headers: headers,
            body: request.body,
            timeoutMs: timeoutMs
        )
        if route == .instanceID { instanceID.send(request) } else { fcm.send(request) }
    }

    func close() {
        fcm.close()
        instanceID.close()
        xmpp?.close()
    }
}
