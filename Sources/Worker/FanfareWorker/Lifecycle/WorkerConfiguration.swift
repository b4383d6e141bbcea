public import FanfareModel
public import RedisTransport

/// Everything a worker process needs to know. Files have been read and checked by whoever fills this in.
public struct WorkerConfiguration: Sendable {
    public struct Project: Sendable {
        public var id: String
        public var transport: Transport
        /// The origin of FCM, `https://host[:port]`.
        public var endpoint: String
        /// The service account file's bytes; nil with the legacy transport.
        public var serviceAccount: [UInt8]?
        /// The server key of the legacy and XMPP transports; nil with v1.
        public var serverKey: String?
        /// What the requests of the legacy transport hold.
        public var legacyBody = LegacyBody.json
        /// Which API changes topic subscriptions; ``TopicAPI/v1`` only with the v1 transport.
        public var topicAPI = TopicAPI.iid
        /// The origin of the Instance ID API.
        public var iidEndpoint = "https://iid.googleapis.com"
        /// Where XMPP connections go.
        public var xmppHost = "fcm-xmpp.googleapis.com"
        public var xmppPort = 5_235
        /// Digits. XMPP logs in with it, and operations on groups name it; nil when not configured.
        public var senderID: String?
        /// The project's send quota, messages a minute, over all workers.
        public var quotaPerMinute = 600_000
        /// Fan-outs that may be active at once.
        public var activeFanouts = 1
        /// FCM's own fan-out to topics, recipients a second.
        public var fanoutRate = 10_000
        /// Sizes of topics' audiences, where they are known.
        public var topics: [String: Int64] = [:]
        /// No fan-out starts within two minutes of a quarter of an hour.
        public var smear = false

        public init(
            id: String,
            transport: Transport = .v1,
            endpoint: String = "https://fcm.googleapis.com",
            serviceAccount: [UInt8]? = nil,
            serverKey: String? = nil
        ) {
            self.id = id
            self.transport = transport
            self.endpoint = endpoint
            self.serviceAccount = serviceAccount
            self.serverKey = serverKey
        }
    }

    /// Where Redis is, and how to sign in.
    public var redis: RedisDeployment
    public var prefix = "fanfare"
    public var projects: [Project]
    /// A private CA, trusted beside the system's, for FCM and Redis.
    public var caFile: String?
    /// A client certificate for Redis.
    public var redisCertificateFile: String?
    public var redisKeyFile: String?
    /// `http://host:port`; the environment's proxy variables are never read.
    public var proxy: String?

    /// What names this process among the workers. Unique in the fleet.
    public var name: String
    /// Sends under way at once, per project.
    public var maxInFlight = 1_000
    /// HTTP/2 connections, per project.
    public var maxLanes = 12
    public var requestTimeoutMs: Int64 = 15_000
    /// How long a drain waits for what is on the wire.
    public var drainMs: Int64 = 25_000
    /// A worker whose lease was not renewed for this long is declared dead.
    public var leaseMs: Int64 = 10_000
    public var renewMs: Int64 = 2_000
    /// The longest an answer waits in memory before it is written.
    public var flushMs: Int64 = 5
    /// Sends of a batch that may begin before the next watermark is written: what a crash can leave in doubt.
    public var window = 128
    /// How often a worker asks for work, permits and news while its project has jobs, and while it has none.
    public var pollMs: Int64 = 50
    public var idlePollMs: Int64 = 100
    /// Retries among all sends of any ten seconds, per cent; ten a second are always allowed.
    public var retryPercent = 10
    /// Replicas that have to confirm each write before it counts; 0: none.
    public var safeReplicas = 0
    /// Entries of an outgoing stream that may be left unacknowledged.
    public var backlogLimit = 1_000_000

    public var dedupeMs: Int64 = 86_400_000
    public var keepJobMs: Int64 = 7 * 86_400_000
    public var keepSingleJobMs: Int64 = 3_600_000
    public var keepOutgoingMs: Int64 = 86_400_000
    public var exitWhenIdle = false

    public init(redis: RedisDeployment, projects: [Project], name: String) {
        self.redis = redis
        self.projects = projects
        self.name = name
    }
}
