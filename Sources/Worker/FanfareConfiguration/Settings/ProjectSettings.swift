public import FanfareCore
public import FanfareModel

extension Configuration {
    /// The settings of one project.
    public struct Project: Equatable, Sendable {
        public var id: String
        public var transport = Transport.v1
        /// ``Configuration/httpEngine`` unless the project names its own.
        public var httpEngine = HTTPEngine.curl
        /// The identity of sends over v1; nil if none is configured.
        public var credentials: CredentialSetting?
        public var serverKeyFile: ConfiguredFile?
        /// Digits.
        public var senderID: String?
        private var namedEndpoint: String?
        public var xmppHost = "fcm-xmpp.googleapis.com"
        public var xmppPort = 5_235
        public var legacyBody = LegacyBody.json
        public var topicAPI = TopicAPI.iid
        /// As ``endpoint``; nil when the configuration names none.
        public var iidOrigin: String?
        public var quotaPerMinute = 600_000
        public var activeFanouts = 1
        public var fanoutRate = 10_000
        /// Sizes of audiences, by topic.
        public var topics: [String: Int64] = [:]
        public var smear = false

        public init(id: String) { self.id = id }

        /// `https://host[:port]`, without a slash at its end.
        public var endpoint: String {
            get { namedEndpoint ?? traits.origin }
            set { namedEndpoint = newValue }
        }

        public var protocols: ProtocolSettings {
            ProtocolSettings(transport: transport, legacyBody: legacyBody, topicAPI: topicAPI)
        }

        public var traits: TransportTraits { protocols.traits }

        /// Where the project's sends go.
        public var destination: String { traits.route.isHTTP ? endpoint : authority }

        /// ``destination`` without a scheme: `host[:port]`.
        var authority: String {
            traits.route.isHTTP ? String(endpoint.dropFirst("https://".count)) : "\(xmppHost):\(xmppPort)"
        }

        /// Of the project's identity; nil where none is named.
        var secretFile: ConfiguredFile? {
            traits.usesAccessToken ? credentials?.file : serverKeyFile
        }

        /// The origin of the Instance ID API. Defaults to ``endpoint`` unless that is Google's: with a sandbox or a
        /// gateway, subscriptions must not be changed at Google.
        public var iidEndpoint: String {
            if let iidOrigin { return iidOrigin }
            let host = HostPolicy.host(authority: String(endpoint.dropFirst("https://".count)))
            return host.map(HostPolicy.isGoogles) == false ? endpoint : "https://iid.googleapis.com"
        }
    }
}

extension Settings {
    static let project: [Setting] = [
        .project("transport", \.transport) {
            "Protocol of the project's sends."
        },
        .project("http_engine", \.httpEngine, inherits: "http_engine") {
            "The library that carries the project's HTTP requests. Default: the top-level `http_engine`. With transport "
                + "xmpp these requests are operations on topics and device groups."
        },
        .project("credentials", \.credentials) {
            "v1: a credential file (JSON, at most 65536 bytes) of type service_account, external_account, "
                + "impersonated_service_account or authorized_user, or the word `metadata`. Default: "
                + "`GOOGLE_APPLICATION_CREDENTIALS`, then the metadata server. Readable by others: a warning."
        },
        .project("server_key_file", \.serverKeyFile) {
            "legacy and xmpp: file that holds the server key. Readable by others: a warning."
        },
        .project("sender_id", \.senderID, .digits) {
            "The number that Google gave the project. xmpp logs in with it. With every transport, operations on device "
                + "groups (`group.create` and the like) need it: without it they are rejected."
        },
        .project("endpoint", \.endpoint, .origin) {
            "FCM's origin: sends over v1 and legacy; with every transport device groups, and topics with `topic_api` v1."
        },
        .project("host", \.xmppHost, .host) {
            "xmpp: the host to connect to, with TLS."
        },
        .project("port", \.xmppPort, .integer(1...65_535)) {
            "xmpp: the port; FCM's own is 5235, and 5236 was for trials."
        },
        .project("legacy_body", \.legacyBody) {
            "legacy: format of the request body. `text` carries one token and only data, so jobs with anything else are "
                + "rejected; see the page on jobs."
        },
        .project("topic_api", \.topicAPI) {
            "The API that changes topic subscriptions: `iid`, the Instance ID API, takes 1000 tokens a request; `v1` "
                + "takes one, lists a token's topics too, and needs transport v1."
        },
        .project("iid_endpoint", \.iidOrigin, .origin) {
            "Origin of the Instance ID API, for topic subscriptions with `topic_api` iid. Default: "
                + "`https://iid.googleapis.com`, or `endpoint` if that is not Google's."
        },
        .project("quota_per_minute", \.quotaPerMinute, .integer(1...1_000_000_000)) {
            "The project's send quota, messages a minute, over all workers. From idle the rate ramps up to it over 60 "
                + "s."
        },
        .project("active_fanouts", \.activeFanouts, .integer(1...1_000)) {
            "Fan-outs that may be active at once. More than one only for experiments."
        },
        .project("fanout_rate", \.fanoutRate, .integer(1...1_000_000_000)) {
            "Estimated rate of FCM's own topic fan-out, recipients a second."
        },
        .project("topics", \.topics) {
            "Sizes of topics' audiences, if known, such as `topics: { news: 1200000 }`. A job to the topic, or to a "
                + "condition of such topics, holds the fan-out slot for an audience of this size unless it has an "
                + "`audience_size`."
        },
        .project("smear", \.smear) {
            "No fan-out starts within two minutes of :00, :15, :30 and :45, when FCM is busiest."
        },
    ]
}
