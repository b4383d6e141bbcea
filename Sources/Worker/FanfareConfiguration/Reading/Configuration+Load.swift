internal import FanfareModel

extension Configuration {
    /// Reads all sources in order of precedence: flags, environment, file, defaults.
    ///
    /// Files that the configuration names are not opened; ``loadSecrets()`` opens them.
    /// - Parameters:
    ///   - file: the path of the YAML file; nil for none.
    ///   - source: the flag or variable that names the file, for messages.
    ///   - environment: of the process.
    ///   - flags: texts by the paths of settings.
    ///   - omitted: projects whose files in `projects_dir` are not read.
    /// - Throws: every fault at once.
    public static func load(
        file: String?,
        source: String = "--config",
        environment: [String: String],
        flags: [String: String] = [:],
        omitting omitted: Set<String> = []
    ) throws(ConfigurationError) -> Configuration {
        var yaml = ""
        var isReadableByOthers = false
        if let path = file {
            let file = ConfiguredFile(option: source, path: path)
            let content = try file.read(limit: ConfigurationFile.maximumBytes, allowsPipe: true)
            guard let text = String(validating: content.bytes, as: UTF8.self) else { throw file.fault("not UTF-8") }
            yaml = text
            isReadableByOthers = content.isReadableByOthers
        }
        let directory = file.flatMap { path in path.lastIndex(of: "/").map { String(path[...$0]) } } ?? ""
        var configuration = try load(
            yaml: yaml,
            directory: directory,
            environment: environment,
            flags: flags,
            omitting: omitted
        )
        configuration.file = file
        let urls = [("redis.url", configuration.redis.url.value), ("proxy", configuration.proxy?.value ?? "")]
        for (path, url) in urls where isReadableByOthers && holdsPassword(url) && yaml.contains(url) {
            configuration.warnings.append(
                "\(path): the configuration file holds a password and every user may read it; chmod 600 it, or put the "
                    + "URL into \(Setting.environmentName(path: path))"
            )
        }
        if let flag = flags["redis.url"], holdsPassword(flag) {
            configuration.warnings.append(
                "redis.url (--redis): every user can see command lines; put the password into FANFARE_REDIS_URL or "
                    + "the file"
            )
        }
        return configuration
    }

    /// Whether a URL begins with `scheme://user:password@`.
    static func holdsPassword(_ url: String) -> Bool {
        let parts = userInfo(of: url)?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) ?? []
        return parts.count == 2 && !parts[1].isEmpty
    }

    /// The part of a URL between `://` and the last `@`; nil if it is missing or empty.
    private static func userInfo(of url: String) -> Substring? {
        guard let start = url.firstRange(of: "://"), let at = url.lastIndex(of: "@"), start.upperBound < at else {
            return nil
        }
        return url[start.upperBound..<at]
    }

    /// Reads the file's text instead of the file.
    /// - Parameter directory: the folder that relative paths in the text start from, ending with a slash; empty for the
    ///   working directory.
    static func load(
        yaml: String,
        directory: String = "",
        environment: [String: String] = [:],
        flags: [String: String] = [:],
        omitting omitted: Set<String> = []
    ) throws(ConfigurationError) -> Configuration {
        var file = ConfigurationFile(yaml: yaml)
        var ignored: [String] = []
        if let folder = SettingMerger.projectsFolder(file, environment, flags, directory: directory) {
            let found = try ProjectFolder.read(folder, omitting: omitted)
            for one in found.files { file.add(one) }
            file.refuse(found.faults)
            ignored = found.warnings
        }
        var merger = SettingMerger(file: file, environment: environment, flags: flags)
        let values = merger.merge()
        guard merger.faults.isEmpty else {
            throw ConfigurationError(faults: merger.faults, warnings: merger.warnings)
        }
        var configuration = merger.configuration(values, directory: directory)
        configuration.metadataHost = merger.metadataHost
        configuration.admin.token = merger.secret(SettingMerger.adminTokenVariable)
        configuration.redis.password = merger.secret(SettingMerger.redisPasswordVariable)
        configuration.redis.sentinelPassword = merger.secret(SettingMerger.sentinelPasswordVariable)
        configuration.proxyPassword = merger.secret(SettingMerger.proxyPasswordVariable)
        let ofOpenTelemetry = merger.fillTelemetry(&configuration)
        configuration.warnings = merger.warnings + ofOpenTelemetry + ignored + configuration.idleSettings()
        let faults = configuration.contradictions()
        guard faults.isEmpty else { throw configuration.error(faults) }
        return configuration
    }

    /// An error with these faults and the configuration's warnings.
    public func error(_ faults: [String]) -> ConfigurationError {
        ConfigurationError(faults: faults, warnings: warnings)
    }

    /// Values that are valid alone and contradict each other.
    private func contradictions() -> [String] {
        var faults: [String] = []
        if worker.renewMs * 3 > worker.leaseMs {
            faults.append(
                "worker.renew_ms: \(worker.renewMs), at most a third of worker.lease_ms (\(worker.leaseMs))"
            )
        }
        if worker.watermarkStep > worker.maximumInFlight {
            faults.append(
                "worker.watermark_step: \(worker.watermarkStep), at most worker.max_in_flight (\(worker.maximumInFlight))"
            )
        }
        if (redis.certificateFile == nil) != (redis.keyFile == nil) {
            faults.append("redis: cert_file and key_file go together")
        }
        faults += gateway.contradictions()
        if redis.user != nil, let info = Self.userInfo(of: redis.url.value), !info.hasPrefix(":") {
            faults.append("redis.user: redis.url names a user too; leave one out")
        }
        if let proxyUser {
            if proxyUser.contains(":") { faults.append("proxy_user: has a colon, which no proxy can read") }
            if let proxy, let url = try? ProxyURL(proxy.value), url.user != nil {
                faults.append("proxy_user: proxy names a user too; leave one out")
            }
        }
        if prefix.contains(where: { "{}:\" ".contains($0) }) || prefix.utf8.count > 64 {
            faults.append("prefix: at most 64 bytes, without braces, colons, quotes and spaces")
        }
        for project in projects where project.topicAPI == .v1 && !project.traits.usesAccessToken {
            faults.append(
                "projects.\(project.id).topic_api: v1 needs a service account, and so transport v1, not "
                    + "\(project.transport.rawValue)"
            )
        }
        faults += enginesWithProxy.map {
            "\($0): nghttp2 does not use a proxy, and proxy is set; set http_engine: curl, or remove the proxy"
        }
        return faults
    }

    /// The paths of settings that name an engine without proxies, while a proxy is configured.
    private var enginesWithProxy: [String] {
        guard proxy != nil else { return [] }
        if httpEngine == .nghttp2 { return ["http_engine"] }
        return projects.filter { $0.httpEngine == .nghttp2 }.map { "projects.\($0.id).http_engine" }
    }

    /// Settings that are given and have no effect.
    private func idleSettings() -> [String] {
        var warnings: [String] = []
        if admin.listen == nil, gateway.adminListen == nil, admin.tokenFile != nil {
            warnings.append("admin.token_file: has no effect without admin.listen or gateway.admin_listen")
        }
        if telemetry.otlp == nil, !telemetry.isDisabled {
            let given = [
                ("headers_file", telemetry.headersFile != nil), ("service_name", telemetry.serviceName != nil),
                ("sample_one_in", telemetry.sampleOneIn != nil),
            ]
            for (path, isGiven) in given where isGiven {
                warnings.append("telemetry.\(path): has no effect without telemetry.otlp")
            }
        }
        if proxy == nil {
            let given = [("proxy_user", proxyUser != nil), ("proxy_password_file", proxyPasswordFile != nil)]
            for (path, isGiven) in given where isGiven { warnings.append("\(path): has no effect without proxy") }
        }
        let url = redis.url.value.lowercased()
        if !url.hasPrefix("redis-sentinel:"), !url.hasPrefix("rediss-sentinel:") {
            let given = [
                ("redis.sentinel_user", redis.sentinelUser != nil),
                ("redis.sentinel_password_file", redis.sentinelPasswordFile != nil),
                ("redis.sentinel_tls", redis.sentinelTLS != .same),
            ]
            for (path, isGiven) in given where isGiven {
                warnings.append("\(path): has no effect unless redis.url begins with redis-sentinel://")
            }
        }
        if gateway.isBehindProxy, gateway.certificateFile != nil {
            warnings.append("gateway.cert_file: has no effect with gateway.behind_proxy, which means plain HTTP")
        }
        return warnings
            + projects.filter { $0.legacyBody != .json && $0.traits == $0.transport.traits() }.map {
                "projects.\($0.id).legacy_body: text has no effect with transport \($0.transport.rawValue)"
            }
    }
}
