internal import FanfareModel

/// Turns checked texts into the values of a ``Configuration``.
struct ResolvedValues {
    let values: [String: SourcedValue]
    /// The file's folder, with its slash.
    let directory: String

    func configuration(projects: [String]) -> Configuration {
        Configuration(
            redis: Configuration.Redis(
                url: SecretText(text("redis.url")),
                certificateFile: path("redis.cert_file"),
                keyFile: path("redis.key_file"),
                user: optional("redis.user"),
                passwordFile: path("redis.password_file"),
                sentinelUser: optional("redis.sentinel_user"),
                sentinelPasswordFile: path("redis.sentinel_password_file"),
                sentinelTLS: ["yes": true, "no": false][text("redis.sentinel_tls")],
                safeReplicas: text("redis.durability") == "safe" ? Int(number("redis.safe_replicas")) : 0
            ),
            prefix: text("prefix"),
            projects: projects.map(project),
            caFile: path("tls.ca_file"),
            allowedHosts: values["allowed_hosts"]?.texts ?? [],
            proxy: optional("proxy"),
            log: Configuration.Log(level: text("log.level"), isJSON: text("log.format") == "json"),
            admin: Configuration.Admin(
                listen: optional("admin.listen").flatMap { ListenAddress($0) },
                tokenFile: path("admin.token_file")
            ),
            backlogLimit: number("backlog_limit"),
            retention: Configuration.Retention(
                jobHours: number("retention.job_hours"),
                singleJobHours: number("retention.single_job_hours"),
                outgoingHours: number("retention.outgoing_hours"),
                dedupeHours: number("retention.dedupe_hours")
            ),
            worker: Configuration.Worker(
                name: optional("worker.name"),
                maxInFlight: Int(number("worker.max_in_flight")),
                maxLanes: Int(number("worker.max_lanes")),
                requestTimeoutMs: number("worker.request_timeout_ms"),
                drainMs: number("worker.drain_ms"),
                leaseMs: number("worker.lease_ms"),
                renewMs: number("worker.renew_ms"),
                flushMs: number("worker.flush_ms"),
                window: Int(number("worker.window")),
                retryPercent: Int(number("worker.retry_percent"))
            ),
            warnings: []
        )
    }

    private func project(_ id: String) -> Configuration.Project {
        let base = "projects.\(id)."
        return Configuration.Project(
            id: id,
            transport: Transport(rawValue: text(base + "transport")) ?? .v1,
            credentials: path(base + "credentials"),
            endpoint: origin(base + "endpoint"),
            serverKeyFile: path(base + "server_key_file"),
            senderID: optional(base + "sender_id"),
            xmppHost: text(base + "host"),
            xmppPort: Int(number(base + "port")),
            quotaPerMinute: number(base + "quota_per_minute"),
            activeFanouts: Int(number(base + "active_fanouts")),
            fanoutRate: number(base + "fanout_rate"),
            topics: sizes(base + "topics"),
            smear: text(base + "smear") == "true",
            legacyBody: LegacyBody(rawValue: text(base + "legacy_body")) ?? .json,
            topicAPI: TopicAPI(rawValue: text(base + "topic_api")) ?? .iid,
            iidEndpoint: iidEndpoint(base)
        )
    }

    /// Whoever sends to a sandbox or a gateway must not change subscriptions at Google's because of what was left out.
    private func iidEndpoint(_ base: String) -> String {
        if values[base + "iid_endpoint"] != nil { return origin(base + "iid_endpoint") }
        let endpoint = origin(base + "endpoint")
        let host = HostPolicy.host(authority: String(endpoint.dropFirst("https://".count)))
        return host.map(HostPolicy.isGoogles) == false ? endpoint : "https://iid.googleapis.com"
    }

    private func optional(_ key: String) -> String? { values[key]?.text }

    /// A setting with a default always has a value, and the rules have seen it.
    private func text(_ key: String) -> String {
        guard let value = values[key] else { preconditionFailure("\(key) has no default") }
        return value.text
    }

    private func number(_ key: String) -> Int64 {
        guard let number = Int64(text(key)) else { preconditionFailure("\(key) was not checked") }
        return number
    }

    private func sizes(_ key: String) -> [String: Int64] {
        var sizes: [String: Int64] = [:]
        for text in values[key]?.texts ?? [] {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let size = Int64(parts[1]) else { preconditionFailure("\(key) was not checked") }
            sizes[String(parts[0])] = size
        }
        return sizes
    }

    private func origin(_ key: String) -> String {
        let text = text(key)
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private func path(_ key: String) -> ConfiguredFile? {
        guard let value = values[key] else { return nil }
        var folder = ""
        if case .file = value.source { folder = directory }
        return ConfiguredFile(name: key + value.place, path: value.text, folder: folder)
    }
}
