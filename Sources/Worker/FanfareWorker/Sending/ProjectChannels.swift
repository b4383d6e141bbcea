internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import HTTPLanes
internal import XMPPTransport

/// The channels of one project's transport.
struct ProjectChannels {
    let router = TransportRouter()
    /// The connections that also carry upstream messages; nil over HTTP.
    let xmpp: XMPPPool?

    /// - Parameters:
    ///   - origin: the connections to an HTTP origin.
    ///   - credentials: of the requests over HTTP. The project that they name is that of the path.
    init(_ context: ProjectContext, origin: OriginConfiguration, _ credentials: any CredentialSource) {
        let project = context.project
        let traits = project.traits
        var settings = LaneChannel.Settings()
        settings.engine = project.httpEngine
        settings.timeoutMs = context.configuration.requestTimeoutMs
        settings.origin = project.endpoint
        settings.usesCutBody = traits.usesCutAnswers
        settings.sendPath = traits.sendPath(project: credentials.projectID ?? project.id)
        let sends = Self.lanes(settings, origin, credentials, context, maximumAnswerBytes: traits.maximumAnswerBytes)
        router.add(sends, for: .fcm) { context.observe($0.reaching(traits.answers), of: .messages) }

        if traits.hasManagement {
            settings.origin = project.iidEndpoint
            settings.usesCutBody = false
            let lanes = Self.lanes(settings, origin, credentials, context, maximumAnswerBytes: AnswerLimit.ofManagement)
            router.add(lanes, for: .instanceID) { context.observe($0.reaching(.google), of: .management) }
        }

        guard !traits.route.isHTTP else {
            xmpp = nil
            return
        }
        let pool = XMPPPool(loop: context.loop, configuration: Self.xmpp(context))
        router.add(XMPPChannel(pool), for: .xmpp) { context.observe($0, of: .messages) }
        xmpp = pool
    }

    private static func lanes(
        _ settings: LaneChannel.Settings,
        _ origin: OriginConfiguration,
        _ credentials: any CredentialSource,
        _ context: ProjectContext,
        maximumAnswerBytes: Int
    ) -> LaneChannel {
        var connections = origin
        connections.maximumBodyBytes = maximumAnswerBytes
        // What waits for a connection begins only while a pause or a cancel would be known.
        return LaneChannel(settings, connections, credentials, loop: context.loop, group: context.pools) {
            context.machine.gate.hasFreshNews(now: SystemClock.bootNs)
        }
    }

    private static func xmpp(_ context: ProjectContext) -> XMPPConfiguration {
        let (project, configuration) = (context.project, context.configuration)
        var connections = XMPPConfiguration(
            host: project.xmppHost,
            port: project.xmppPort,
            caFile: configuration.caFile,
            senderID: project.senderID ?? "",
            serverKey: project.serverKey ?? ""
        )
        let window = connections.session.window
        connections.maximumConnections = max(1, (configuration.maximumInFlight + window - 1) / window)
        return connections
    }

    /// Connections for messages, and connections that only management uses.
    var openConnections: (sends: Int, management: Int) {
        let sends: Route = xmpp == nil ? .fcm : .xmpp
        // Over HTTP topics through Instance ID have connections of their own, over XMPP every request of a management API.
        return (router.openConnections { $0 == sends }, router.openConnections { $0 != sends })
    }
}
