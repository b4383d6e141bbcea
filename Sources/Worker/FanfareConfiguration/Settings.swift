/// Every setting there is, in the order of the reference.
public enum Settings {
    public static let all: [Setting] = general + worker + project

    static let general: [Setting] = [
        Setting(
            "redis.url",
            .redisURL,
            "redis://127.0.0.1:6379/0",
            flag: "redis",
            "Where Redis is: `redis://[user[:password]@]host[:port][/db]`, `unix:///path[?db=n]`, "
                + "`redis-sentinel://…host[:port],…[/db][?master=name]` or `redis-cluster://…host[:port],…`; for TLS `rediss` "
                + "in the place of `redis`. `REDIS_URL` counts where `FANFARE_REDIS_URL` is not set. See the page on Redis."
        ),
        Setting("redis.user", .text, "", "The ACL user to sign in as, where the URL names none."),
        Setting(
            "redis.password_file",
            .file,
            "",
            "A file that holds the password, where the URL holds none. `FANFARE_REDIS_PASSWORD`, the password itself, counts "
                + "before it. Readable by others: a warning."
        ),
        Setting("redis.cert_file", .file, "", "A client certificate (PEM) for `rediss://`."),
        Setting("redis.key_file", .file, "", "The key (PEM) of that certificate."),
        Setting("redis.sentinel_user", .text, "", "The ACL user to sign in to the Sentinels as."),
        Setting(
            "redis.sentinel_password_file",
            .file,
            "",
            "A file that holds the password for the Sentinels; `FANFARE_REDIS_SENTINEL_PASSWORD`, the password itself, counts "
                + "before it. Readable by others: a warning."
        ),
        Setting(
            "redis.sentinel_tls",
            .choice(["same", "yes", "no"]),
            "same",
            "Whether the Sentinels are asked over TLS: `same` is as the servers."
        ),
        Setting(
            "redis.durability",
            .choice(["fast", "safe"]),
            "fast",
            "`safe`: no send begins and no result counts before `redis.safe_replicas` replicas have confirmed what was "
                + "written. See the page on guarantees."
        ),
        Setting("redis.safe_replicas", .integer(1...16), "1", "Replicas that have to confirm with `safe`."),
        Setting("prefix", .text, "fanfare", flag: "prefix", "What every Redis key starts with."),
        Setting("tls.ca_file", .file, "", "A private CA (PEM), trusted beside the system's, for FCM and Redis."),
        Setting(
            "allowed_hosts",
            .hosts,
            "",
            "Hosts that `endpoint`, `iid_endpoint`, `host` and a credential's `token_uri` may name besides Google's and this machine's."
        ),
        Setting("proxy", .proxy, "", "An HTTP proxy for FCM. The environment's proxy variables are never read."),
        Setting(
            "log.level",
            .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]),
            "info",
            flag: "log-level",
            "The least severe record that is written."
        ),
        Setting(
            "log.format",
            .choice(["text", "json"]),
            "text",
            flag: "log-format",
            "Lines for people, or one JSON object a line. Logs go to standard error."
        ),
        Setting(
            "admin.listen",
            .address,
            "",
            flag: "admin-listen",
            "Address of a worker's `/metrics`, `/healthz` and `/readyz`; off when left out. Port 0 takes a free one and logs "
                + "it. An address that others than this machine can reach needs a token."
        ),
        Setting(
            "admin.token_file",
            .file,
            "",
            "A file that holds the bearer token for the admin address, 16 characters or more. `FANFARE_ADMIN_TOKEN`, the "
                + "token itself, counts before it. Readable by others: a warning."
        ),
        Setting(
            "backlog_limit",
            .integer(1...1_000_000_000),
            "1000000",
            "Entries of an outgoing stream that a consumer group may leave unacknowledged before the project's workers take "
                + "on nothing more. They go on at four fifths of it."
        ),
        Setting(
            "retention.job_hours",
            .integer(1...87_600),
            "168",
            "How long a job's hash is kept once the job is over."
        ),
        Setting(
            "retention.single_job_hours",
            .integer(1...87_600),
            "1",
            "The same for a job of one recipient and without an id of its own."
        ),
        Setting(
            "retention.outgoing_hours",
            .integer(1...87_600),
            "24",
            "How long entries of the outgoing streams are kept when no consumer group reads them."
        ),
        Setting(
            "retention.dedupe_hours",
            .integer(1...87_600),
            "24",
            "How long a job's id is remembered: pushed again in that time, it is not sent again."
        ),
    ]

    static let worker: [Setting] = [
        Setting(
            "worker.name",
            .text,
            "",
            flag: "name",
            "Names this process among the workers, unique in the fleet: left out, it is the host's name, the process id "
                + "and a random part. Not for a file that several workers share."
        ),
        Setting(
            "worker.max_in_flight",
            .integer(1...100_000),
            "1000",
            flag: "max-in-flight",
            "Sends under way at once, per project."
        ),
        Setting(
            "worker.max_lanes",
            .integer(1...1_000),
            "12",
            "HTTP/2 connections, per project; each carries up to 100 sends."
        ),
        Setting(
            "worker.request_timeout_ms",
            .integer(1_000...600_000),
            "15000",
            "How long one request may take. FCM itself may need 10 s."
        ),
        Setting("worker.drain_ms", .integer(0...600_000), "25000", "How long a drain waits for what is on the wire."),
        Setting(
            "worker.lease_ms",
            .integer(1_000...600_000),
            "10000",
            "A worker that did not renew for this long is declared dead and its batches are taken over."
        ),
        Setting(
            "worker.renew_ms",
            .integer(100...60_000),
            "2000",
            "How often a worker renews; at most a third of the lease."
        ),
        Setting(
            "worker.flush_ms",
            .integer(1...10_000),
            "5",
            "The longest an answer waits in memory before it is written: what `kill -9` can cost beside what is on the wire."
        ),
        Setting(
            "worker.window",
            .integer(1...1_000),
            "128",
            "Sends of a batch that may begin before the next mark is written: what a crash can leave in doubt beside what is on the wire, per batch."
        ),
        Setting(
            "worker.retry_percent",
            .integer(0...100),
            "10",
            "Retries among all sends of any ten seconds, per cent; 10 a second are always allowed, and 100 means no limit."
        ),
    ]

    static let project: [Setting] = [
        Setting("projects.*.transport", .choice(["v1", "legacy", "xmpp"]), "v1", "How the project's sends travel."),
        Setting(
            "projects.*.credentials",
            .file,
            "",
            "v1: the OAuth2 service account file (JSON), at most 65536 bytes. Where none is named, "
                + "`GOOGLE_APPLICATION_CREDENTIALS` counts. Readable by others: a warning."
        ),
        Setting(
            "projects.*.server_key_file",
            .file,
            "",
            "legacy and xmpp: a file that holds the server key. Readable by others: a warning."
        ),
        Setting(
            "projects.*.sender_id",
            .digits,
            "",
            "The number that Google gave the project. xmpp needs it to log in, and with every transport the operations on "
                + "device groups (`group.create` and the like) need it: without it they are rejected."
        ),
        Setting(
            "projects.*.endpoint",
            .origin,
            "https://fcm.googleapis.com",
            "FCM's origin: sends over v1 and legacy; with every transport device groups, and topics with `topic_api` v1."
        ),
        Setting("projects.*.host", .host, "fcm-xmpp.googleapis.com", "xmpp: the host to connect to, with TLS."),
        Setting(
            "projects.*.port",
            .integer(1...65_535),
            "5235",
            "xmpp: the port; FCM's own is 5235, and 5236 was for trials."
        ),
        Setting(
            "projects.*.legacy_body",
            .choice(["json", "text"]),
            "json",
            "legacy: what a request holds. `text` carries one token and only data, so that jobs with anything else are "
                + "rejected; see the page on jobs."
        ),
        Setting(
            "projects.*.topic_api",
            .choice(["iid", "v1"]),
            "iid",
            "Which API changes topic subscriptions: `iid`, the Instance ID API, takes 1000 tokens a request; `v1` takes "
                + "one, and needs transport v1."
        ),
        Setting(
            "projects.*.iid_endpoint",
            .origin,
            "",
            "The Instance ID API's origin, for topic subscriptions with `topic_api` iid. Unless said, "
                + "`https://iid.googleapis.com`, or `endpoint` where that is not Google's."
        ),
        Setting(
            "projects.*.quota_per_minute",
            .integer(1...1_000_000_000),
            "600000",
            "The project's send quota, messages a minute, over all workers. From idle the rate climbs to it over 60 s."
        ),
        Setting(
            "projects.*.active_fanouts",
            .integer(1...1_000),
            "1",
            "Fan-outs that may be active at once. More than one only for experiments."
        ),
        Setting(
            "projects.*.fanout_rate",
            .integer(1...1_000_000_000),
            "10000",
            "Estimate of FCM's own topic fan-out, recipients a second."
        ),
        Setting(
            "projects.*.topics",
            .sizes,
            "",
            "Sizes of topics' audiences, where known, such as `topics: { news: 1200000 }`. A job to the topic, or to a "
                + "condition of such topics, that has no `audience_size` keeps the slot for this size."
        ),
        Setting(
            "projects.*.smear",
            .choice(["false", "true"]),
            "false",
            "No fan-out starts within two minutes of :00, :15, :30 and :45, when FCM is busiest."
        ),
    ]
}
