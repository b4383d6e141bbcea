public import FanfareModel

/// What a Fanfare process was told, checked.
public struct Configuration: Equatable, Sendable {
    public struct Redis: Equatable, Sendable {
        /// May hold a password.
        public var url: SecretText
        public var certificateFile: ConfiguredFile?
        public var keyFile: ConfiguredFile?
        /// Signs in instead of a user in the URL.
        public var user: String?
        public var passwordFile: ConfiguredFile?
        /// What the environment says the password is; it counts before the file's.
        public var password: SecretText?
        public var sentinelUser: String?
        public var sentinelPasswordFile: ConfiguredFile?
        public var sentinelPassword: SecretText?
        /// nil: as the servers.
        public var sentinelTLS: Bool?
        /// Replicas that have to confirm each write; 0 with the fast profile.
        public var safeReplicas: Int
    }

    public struct Project: Equatable, Sendable {
        public var id: String
        public var transport: Transport
        /// The service account file; nil when there is none or the transport needs none.
        public var credentials: ConfiguredFile?
        /// `https://host[:port]`, without a slash at its end.
        public var endpoint: String
        /// Holds the server key of the legacy and XMPP transports.
        public var serverKeyFile: ConfiguredFile?
        /// Digits.
        public var senderID: String?
        public var xmppHost: String
        public var xmppPort: Int
        public var quotaPerMinute: Int64
        public var activeFanouts: Int
        public var fanoutRate: Int64
        /// Sizes of topics' audiences, by topic.
        public var topics: [String: Int64]
        public var smear: Bool
        public var legacyBody: LegacyBody
        public var topicAPI: TopicAPI
        /// As ``endpoint``.
        public var iidEndpoint: String

        /// Where its sends go.
        public var destination: String { transport == .xmpp ? "\(xmppHost):\(xmppPort)" : endpoint }
    }

    public struct Worker: Equatable, Sendable {
        /// nil: the process makes one up.
        public var name: String?
        public var maxInFlight: Int
        public var maxLanes: Int
        public var requestTimeoutMs: Int64
        public var drainMs: Int64
        public var leaseMs: Int64
        public var renewMs: Int64
        public var flushMs: Int64
        public var window: Int
        public var retryPercent: Int
    }

    public struct Retention: Equatable, Sendable {
        public var jobHours: Int64
        public var singleJobHours: Int64
        public var outgoingHours: Int64
        public var dedupeHours: Int64
    }

    public struct Log: Equatable, Sendable {
        public var level: String
        public var isJSON: Bool

        public init(level: String, isJSON: Bool) {
            self.level = level
            self.isJSON = isJSON
        }
    }

    public struct Admin: Equatable, Sendable {
        /// nil: there is no admin address.
        public var listen: ListenAddress?
        public var tokenFile: ConfiguredFile?
        /// What the environment says the token is; it counts before the file's.
        public var token: SecretText?

        public init(listen: ListenAddress?, tokenFile: ConfiguredFile?) {
            self.listen = listen
            self.tokenFile = tokenFile
        }
    }

    public var redis: Redis
    public var prefix: String
    /// In the order of their ids.
    public var projects: [Project]
    public var caFile: ConfiguredFile?
    public var allowedHosts: [String]
    public var proxy: String?
    public var log: Log
    public var admin: Admin
    public var backlogLimit: Int64
    public var retention: Retention
    public var worker: Worker
    /// What is allowed but deserves a look: one sentence each.
    public var warnings: [String]
}
