extension Configuration {
    /// The settings under `redis`.
    public struct Redis: Equatable, Sendable {
        public enum Durability: String, CaseIterable, Sendable { case fast, safe }
        public enum SentinelTLS: String, CaseIterable, Sendable { case same, yes, no }

        /// May hold a password.
        public var url = SecretText("redis://127.0.0.1:6379/0")
        /// The ACL user, if the URL names none.
        public var user: String?
        public var passwordFile: ConfiguredFile?
        /// The password from the environment; it takes precedence over the file's.
        public var password: SecretText?
        public var certificateFile: ConfiguredFile?
        public var keyFile: ConfiguredFile?
        public var sentinelUser: String?
        public var sentinelPasswordFile: ConfiguredFile?
        /// As ``password``, for the Sentinels.
        public var sentinelPassword: SecretText?
        public var sentinelTLS = SentinelTLS.same
        public var durability = Durability.fast
        /// Used with ``Durability/safe`` only.
        public var replicas = 1

        /// Replicas that must confirm each write; 0 with ``Durability/fast``.
        public var safeReplicas: Int { durability == .safe ? replicas : 0 }
    }

    /// The settings under `log`.
    public struct Log: Equatable, Sendable {
        /// As swift-log names them.
        public enum Level: String, CaseIterable, Sendable { case trace, debug, info, notice, warning, error, critical }
        public enum Format: String, CaseIterable, Sendable { case text, json }

        public var level = Level.info
        public var format = Format.text
    }

    /// The settings under `admin`.
    public struct Admin: Equatable, Sendable {
        /// nil: the worker serves no admin requests.
        public var listen: ListenAddress?
        public var tokenFile: ConfiguredFile?
        /// The token from the environment; it takes precedence over the file's.
        public var token: SecretText?
    }

    /// The settings under `telemetry`.
    public struct Telemetry: Equatable, Sendable {
        /// URL of the OTLP collector, without a slash at its end; nil: the worker sends no telemetry.
        public var otlp: String?
        public var headersFile: ConfiguredFile?
        public var intervalMs: Int64 = 15_000
        /// Nil: `fanfare`.
        public var serviceName: String?
        /// Of the traces that begin at a worker, one in so many is recorded; nil: each, or what ``sampler`` says.
        public var sampleOneIn: Int64?

        // What only OpenTelemetry's variables say.

        /// Whether they switch telemetry off.
        public var isDisabled = false
        /// Header lines that hold a secret.
        public var headers: [SecretText] = []
        public var attributes: [Attribute] = []
        /// Nil when ``sampleOneIn`` decides.
        public var sampler: Sampler?
        /// The variable that each setting has its value from, by the setting's path.
        public var variables: [String: String] = [:]

        public struct Attribute: Equatable, Sendable {
            public var key: String
            public var value: String
        }

        /// Which traces are recorded.
        public struct Sampler: Equatable, Sendable {
            /// Whether a trace that a producer began is recorded exactly when the producer records it.
            public var followsParent = true
            /// The share of all other traces that is recorded, 0 to 1.
            public var ratio = 1.0
        }

        /// The sampler in force.
        public var traceSampler: Sampler {
            if let sampleOneIn { return Sampler(ratio: 1 / Double(sampleOneIn)) }
            return sampler ?? Sampler()
        }
    }

    /// The settings under `retention`, in hours.
    public struct Retention: Equatable, Sendable {
        public var jobHours: Int64 = 168
        public var singleJobHours: Int64 = 1
        public var outgoingHours: Int64 = 24
        public var dedupeHours: Int64 = 24
    }
}

extension Settings {
    static let general: [Setting] = [
        Setting("redis.url", \.redis.url, .redisURL, flag: "redis") {
            "Address of Redis: `redis://[user[:password]@]host[:port][/db]`, `unix:///path[?db=n]`, "
                + "`redis-sentinel://…host[:port],…[/db][?master=name]` or `redis-cluster://…host[:port],…`; `rediss` in "
                + "place of `redis` means TLS. `REDIS_URL` is used if `FANFARE_REDIS_URL` is not set. See the page on Redis."
        },
        Setting("redis.user", \.redis.user) {
            "The ACL user to sign in as, if the URL names none."
        },
        Setting("redis.password_file", \.redis.passwordFile) {
            "File that holds the password, if the URL holds none. `FANFARE_REDIS_PASSWORD`, the password itself, takes "
                + "precedence. Readable by others: a warning."
        },
        Setting("redis.cert_file", \.redis.certificateFile) {
            "A client certificate (PEM) for `rediss://`."
        },
        Setting("redis.key_file", \.redis.keyFile) {
            "The key (PEM) of that certificate."
        },
        Setting("redis.sentinel_user", \.redis.sentinelUser) {
            "The ACL user to sign in to the Sentinels as."
        },
        Setting("redis.sentinel_password_file", \.redis.sentinelPasswordFile) {
            "File that holds the Sentinels' password. `FANFARE_REDIS_SENTINEL_PASSWORD`, the password itself, takes "
                + "precedence. Readable by others: a warning."
        },
        Setting("redis.sentinel_tls", \.redis.sentinelTLS) {
            "Whether to connect to the Sentinels over TLS; `same`: as to the servers."
        },
        Setting("redis.durability", \.redis.durability) {
            "`safe`: no send starts and no result counts before `redis.safe_replicas` replicas have confirmed the "
                + "write. See the page on guarantees."
        },
        Setting("redis.safe_replicas", \.redis.replicas, .integer(1...16)) {
            "Replicas that must confirm each write with `safe`."
        },
        Setting("prefix", \.prefix, flag: "prefix") {
            "Prefix of every Redis key."
        },
        Setting("projects_dir", \.projectsFolder) {
            "Folder with more projects, one file `ID.yaml` each, which holds the settings of project `ID`. Paths in it are "
                + "relative to the folder. See the page on reload."
        },
        Setting("tls.ca_file", \.caFile) {
            "A private CA (PEM), trusted besides the system's, for FCM and Redis."
        },
        Setting("allowed_hosts", \.allowedHosts) {
            "Hosts that `endpoint`, `iid_endpoint`, `host` and a credential's `token_uri` may name besides Google's and this machine's."
        },
        Setting("proxy", \.proxy, .proxy) {
            "An HTTP proxy for FCM and access tokens: `http://[user:password@]host:port`. The environment's proxy variables "
                + "are never read."
        },
        Setting("proxy_user", \.proxyUser) {
            "The user to sign in to the proxy as, if the URL names none."
        },
        Setting("proxy_password_file", \.proxyPasswordFile) {
            "File that holds the proxy's password, if the URL holds none. `FANFARE_PROXY_PASSWORD`, the password itself, takes "
                + "precedence. Readable by others: a warning."
        },
        Setting("http_engine", \.httpEngine) {
            "The library that carries requests to FCM. `nghttp2` speaks HTTP/2 only and uses no proxy; access tokens and "
                + "telemetry stay with libcurl."
        },
        Setting("log.level", \.log.level, flag: "log-level") {
            "The lowest level that is logged."
        },
        Setting("log.format", \.log.format, flag: "log-format") {
            "Lines for people, or one JSON object a line. Logs go to standard error."
        },
        Setting("admin.listen", \.admin.listen, flag: "admin-listen") {
            "Address of a worker's `/metrics`, `/healthz` and `/readyz`; without one they are not served. Port 0 takes "
                + "a free port and logs it. An address that other machines can reach needs a token."
        },
        Setting("admin.token_file", \.admin.tokenFile) {
            "File that holds the bearer token for the admin address, 16 characters or more. `FANFARE_ADMIN_TOKEN`, the "
                + "token itself, takes precedence. Readable by others: a warning."
        },
        Setting("telemetry.otlp", \.telemetry.otlp, .collector) {
            "URL of an OpenTelemetry collector. Workers send it spans and metrics as OTLP/HTTP JSON, to `/v1/traces` and "
                + "`/v1/metrics` below the URL. Plain HTTP only to this machine and to `allowed_hosts`. Left out: "
                + "`OTEL_EXPORTER_OTLP_ENDPOINT`, if it is set."
        },
        Setting("telemetry.headers_file", \.telemetry.headersFile) {
            "File with request headers for the collector, such as an API key: one `Name: value` a line. Readable by "
                + "others: a warning. Left out: `OTEL_EXPORTER_OTLP_HEADERS`."
        },
        Setting("telemetry.interval_ms", \.telemetry.intervalMs, .integer(1_000...600_000)) {
            "How often metrics are sent. Spans are sent after 5 s at the latest."
        },
        Setting("telemetry.service_name", \.telemetry.serviceName) {
            "The resource attribute `service.name`; `fanfare` unless `OTEL_SERVICE_NAME` is set."
        },
        Setting("telemetry.sample_one_in", \.telemetry.sampleOneIn, .integer(1...1_000_000_000)) {
            "Of the traces that begin at a worker, one in so many is recorded. A trace that a producer began is recorded "
                + "if the producer records it. Left out: `OTEL_TRACES_SAMPLER`, or every trace."
        },
        Setting("backlog_limit", \.backlogLimit, .integer(1...1_000_000_000)) {
            "Entries of an outgoing stream that a consumer group may leave unacknowledged. Above it, the project's "
                + "workers take no new jobs until the backlog falls to four fifths of it."
        },
        Setting("token_index", \.tokenIndex) {
            "Whether workers index the results by token, with three bytes each, so that `fanfare token show` and the "
                + "dashboard need not read all of them."
        },
        Setting("retention.job_hours", \.retention.jobHours, .integer(1...87_600)) {
            "How long the hash of a finished job is kept."
        },
        Setting("retention.single_job_hours", \.retention.singleJobHours, .integer(1...87_600)) {
            "The same for a job of one recipient without an id of its own."
        },
        Setting("retention.outgoing_hours", \.retention.outgoingHours, .integer(1...87_600)) {
            "How long entries of the outgoing streams are kept if no consumer group reads them."
        },
        Setting("retention.dedupe_hours", \.retention.dedupeHours, .integer(1...87_600)) {
            "How long a job's id is remembered: a job pushed again in that time is not sent again."
        },
    ]
}
