internal import FCMWire
public import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel
internal import FoundationEssentials
internal import Glibc
internal import OpenSSLKit
public import RedisTransport

/// Everything a worker process needs to know: its settings, the contents of the files they name, and where Redis is.
///
/// A setting and its default are defined in FanfareConfiguration; here each has the name and the unit that the worker
/// uses.
public struct WorkerConfiguration: Sendable {
    struct Project: Equatable, Sendable {
        var settings: Configuration.Project
        /// The identity of sends; nil with the legacy and XMPP transports.
        var credential: Credential?
        /// The server key of the legacy and XMPP transports; nil with v1.
        var serverKey: String?
        /// Why the project has no credential while the worker runs: its file was deleted. The project is blocked.
        var lostCredential: String?

        var id: String { settings.id }
        var transport: Transport { settings.transport }
        var protocols: ProtocolSettings { settings.protocols }
        var traits: TransportTraits { settings.traits }
        var httpEngine: HTTPEngine { settings.httpEngine }
        var endpoint: String { settings.endpoint }
        var iidEndpoint: String { settings.iidEndpoint }
        var xmppHost: String { settings.xmppHost }
        var xmppPort: Int { settings.xmppPort }
        var senderID: String? { settings.senderID }
        var quotaPerMinute: Int { settings.quotaPerMinute }
        var activeFanouts: Int { settings.activeFanouts }
        var fanoutRate: Int { settings.fanoutRate }
        var topics: [String: Int64] { settings.topics }
        var smear: Bool { settings.smear }
    }

    let settings: Configuration
    /// Where Redis is, and how to sign in.
    let redis: RedisDeployment
    var projects: [Project]
    /// The name of this process among the workers, unique in the fleet.
    public let name: String
    var exitWhenIdle = false
    /// The least wait before a retry, in milliseconds, where the simulator takes FCM's place; nil for what FCM asks for.
    public var simulatedRetryMs: Int64?
    /// With its user and password; nil for none.
    var proxy: HTTPProxy?
    /// As ``Secrets/startContents``.
    var startContents: [String: Int] = [:]

    /// In a cluster each project has its own connections: its slot may move without the others.
    var isCluster: Bool { redis.form == .cluster }
    var usesSentinels: Bool { if case .sentinel = redis.form { true } else { false } }
    /// Whether results are kept until a replica has them. Not needed with `safe`, which confirms only what a replica
    /// has.
    var awaitsReplicas: Bool { usesSentinels && safeReplicas == 0 }

    var prefix: String { settings.prefix }
    var caFile: String? { settings.caFile?.path }
    var safeReplicas: Int { settings.redis.safeReplicas }
    var backlogLimit: Int { settings.backlogLimit }
    var indexesTokens: Bool { settings.tokenIndex }

    var maximumInFlight: Int { settings.worker.maximumInFlight }
    var maximumLanes: Int { settings.worker.maximumLanes }
    var requestTimeoutMs: Int64 { settings.worker.requestTimeoutMs }
    var drainMs: Int64 { settings.worker.drainMs }
    var leaseMs: Int64 { settings.worker.leaseMs }
    var renewMs: Int64 { settings.worker.renewMs }
    var flushMs: Int64 { settings.worker.flushMs }
    var window: Int { settings.worker.watermarkStep }
    var retryPercent: Int { settings.worker.retryPercent }
    /// For `rediss://`.
    var tls: TLSOptions {
        TLSOptions(
            caFile: caFile,
            certFile: settings.redis.certificateFile?.path,
            keyFile: settings.redis.keyFile?.path
        )
    }

    /// How often a worker polls for work, permits and news while its project has jobs; while it has none, and is not
    /// quiet.
    var pollMs: Int64 { 50 }
    var idlePollMs: Int64 { 250 }

    var dedupeMs: Int64 { settings.retention.dedupeHours * Self.hourMs }
    var keepJobMs: Int64 { settings.retention.jobHours * Self.hourMs }
    /// The hash of a rejected job: a day at most, because a faulty producer may push any number of them. `dead` keeps the entry.
    var keepRejectedMs: Int64 { min(keepJobMs, 24 * Self.hourMs) }
    var keepSingleJobMs: Int64 { settings.retention.singleJobHours * Self.hourMs }
    var keepOutgoingMs: Int64 { settings.retention.outgoingHours * Self.hourMs }

    private static let hourMs: Int64 = 3_600_000
}

extension WorkerConfiguration {
    /// - Parameters:
    ///   - secrets: the contents of the files that the settings name.
    ///   - redis: the server that the settings name, with its passwords.
    ///   - exitWhenIdle: drains the worker once every job is over.
    public init(_ settings: Configuration, secrets: Secrets, redis: RedisDeployment, exitWhenIdle: Bool = false) {
        let projects = settings.projects.map { project in
            Project(
                settings: project,
                credential: secrets.credentials[project.id],
                serverKey: secrets.serverKeys[project.id],
                lostCredential: secrets.deleted[project.id]
            )
        }
        let name = settings.worker.name ?? Self.processName()
        self.init(settings: settings, redis: redis, projects: projects, name: name, exitWhenIdle: exitWhenIdle)
        proxy = secrets.proxy
        startContents = secrets.startContents
    }

    /// The random part distinguishes the process from an earlier one with the same process id, which every container
    /// has.
    private static func processName() -> String {
        let process = ProcessInfo.processInfo
        let host = process.hostName.prefix(64)
        return "\(host)-\(process.processIdentifier)-\(String(UInt32.random(in: 0...UInt32.max), radix: 36))"
    }
}
