internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import HTTPLanes
internal import NGHTTP2Transport
internal import XMPPTransport

/// Routes a project's requests: over the lanes to FCM, the lanes to Instance ID or the connections of XMPP. An answer has
/// the tag of its request.
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
        var (toFCM, toInstanceID) = (origin, origin)
        toFCM.maxBodyBytes = AnswerLimit.ofSend(over: project.project.transport)
        toInstanceID.maxBodyBytes = AnswerLimit.ofManagement
        fcm = Self.pool(over: project.project.httpEngine, toFCM, loop, project.pools)
        instanceID = Self.pool(over: project.project.httpEngine, toInstanceID, loop, project.pools)
        self.project = project.project
        timeoutMs = project.configuration.requestTimeoutMs
        let sendPath =
            switch project.project.transport {
            case .v1: "/v1/projects/\(credentialProject ?? project.project.id)/messages:send"
            case .legacy, .xmpp: "/fcm/send"
            }
        sendURL = Self.url(origin: project.project.endpoint, path: sendPath)
        if project.project.transport == .xmpp {
            var way = XMPPConfiguration(
                host: project.project.xmppHost,
                port: project.project.xmppPort,
                caFile: project.configuration.caFile,
                senderID: project.project.senderID ?? "",
                serverKey: project.project.serverKey ?? ""
            )
            way.mostConnections = max(
                1,
                (project.configuration.maxInFlight + way.session.window - 1) / way.session.window
            )
            xmpp = XMPPPool(loop: loop, configuration: way)
        } else {
            xmpp = nil
        }
        // What waits for a connection begins only while a pause or a cancel would be known.
        fcm.mayBegin = { project.machine.gate.hasFreshNews(now: EventLoop.readClock()) }
        instanceID.mayBegin = fcm.mayBegin
        let isLegacy = project.project.transport == .legacy
        fcm.onCompletion = { [weak self] tag, outcome in
            project.observe(outcome.reaching(legacy: isLegacy), of: .fcm)
            self?.onCompletion(Int(tag), outcome)
        }
        instanceID.onCompletion = { [weak self] tag, outcome in
            project.observe(outcome.reaching(legacy: false), of: .instanceID)
            self?.onCompletion(Int(tag), outcome)
        }
        xmpp?.onCompletion = { [weak self] tag, outcome in
            project.observe(outcome, of: .fcm)
            self?.onCompletion(Int(tag), outcome)
        }
        fcm.onRoom = { [weak self] in self?.onRoom() }
        instanceID.onRoom = { [weak self] in self?.onRoom() }
        xmpp?.onRoom = { [weak self] in self?.onRoom() }
    }

    private static func pool(
        over engine: HTTPEngine,
        _ origin: OriginConfiguration,
        _ loop: EventLoop,
        _ group: PoolGroup
    ) -> LanePool {
        guard engine == .nghttp2 else { return LanePool(overCurl: origin, loop: loop, group: group) }
        var direct = origin
        // A configuration with this engine has no proxy. A worker that was started with one keeps it until a restart.
        direct.proxy = nil
        return LanePool(overNGHTTP2: direct, loop: loop, group: group)
    }

    /// Connections for messages, and connections that only management uses.
    var openConnections: (sends: Int, management: Int) {
        let (lanes, other) = (fcm.openLanes, instanceID.openLanes)
        return xmpp.map { ($0.readyConnections, lanes + other) } ?? (lanes, other)
    }

    /// Requests that each route accepts now.
    var room: SendMachine.Room {
        SendMachine.Room(fcm: fcm.freeSlots, instanceID: instanceID.freeSlots, xmpp: xmpp?.freeSlots ?? 0)
    }

    /// - Parameter headers: for the lanes; XMPP has logged in.
    func send(_ request: SendRequest, headers: [String]) {
        let (tag, parts) = (UInt64(request.tag), request.request)
        if request.route == .xmpp, let xmpp {
            return xmpp.send(tag: tag, messageID: request.messageID, to: request.recipient, json: parts.body)
        }
        let origin = request.route == .instanceID ? project.iidEndpoint : project.endpoint
        var http = HTTPRequest(
            tag: tag,
            method: parts.method,
            url: parts.path.isEmpty ? sendURL : Self.url(origin: origin, path: parts.path),
            headers: headers,
            body: parts.body,
            timeoutMs: timeoutMs
        )
        if !parts.path.isEmpty {
            http.maxBodyBytes = parts.method == .get ? AnswerLimit.ofList : AnswerLimit.ofManagement
        } else if project.transport == .legacy {
            // Each complete result at the front of a cut answer counts.
            http.usesCutBody = true
        }
        if request.route == .instanceID { instanceID.send(http) } else { fcm.send(http) }
    }

    /// An address of a fixed origin and validated segments, never of anything a job says.
    ///
    /// - Parameter path: with its query, escaped.
    private static func url(origin: String, path: String) -> String {
        (origin.hasSuffix("/") ? String(origin.dropLast()) : origin) + path
    }

    func close() {
        fcm.close()
        instanceID.close()
        xmpp?.close()
    }
}
