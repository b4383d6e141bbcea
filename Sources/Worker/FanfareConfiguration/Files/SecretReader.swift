internal import FanfareModel

/// Reads the files that a configuration names, and collects problems and warnings.
struct SecretReader {
    let configuration: Configuration
    private(set) var problems: [String] = []
    private var warnings: [String] = []

    private static let maximumCertificateBytes = 4 << 20
    private static let maximumServiceAccountBytes = 65_536
    private static let maximumWordBytes = 4_096

    init(configuration: Configuration) { self.configuration = configuration }

    mutating func secrets() -> Secrets {
        var secrets = Secrets()
        if configuration.projects.isEmpty { problems.append("projects: none; name at least one") }
        for project in configuration.projects {
            switch project.transport {
            case .v1: secrets.serviceAccounts[project.id] = serviceAccount(of: project)
            case .legacy: secrets.serverKeys[project.id] = serverKey(of: project)
            case .xmpp:
                if project.senderID == nil {
                    problems.append("projects.\(project.id).sender_id: none; xmpp logs in with it")
                }
                secrets.serverKeys[project.id] = serverKey(of: project)
            }
        }
        secrets.adminToken = adminToken()
        secrets.redis = redisPasswords()
        checkCertificates()
        secrets.warnings = warnings
        return secrets
    }

    mutating func redisPasswords() -> RedisPasswords {
        let redis = configuration.redis
        let servers = password(redis.password, redis.passwordFile)
        let sentinels = password(redis.sentinelPassword, redis.sentinelPasswordFile)
        if servers != nil, Configuration.holdsPassword(redis.url.value) {
            problems.append(
                "redis.url: holds a password, and redis.password_file or \(SettingMerger.redisPasswordVariable) says "
                    + "another; leave one out"
            )
        }
        return RedisPasswords(servers: servers, sentinels: sentinels)
    }

    private mutating func serviceAccount(of project: Configuration.Project) -> [UInt8]? {
        guard let file = project.credentials else {
            problems.append("projects.\(project.id).credentials: none named; v1 needs a service account file")
            return nil
        }
        guard let bytes = read(file, limit: Self.maximumServiceAccountBytes) else { return nil }
        let hosts = HostPolicy(allowed: configuration.allowedHosts)
        if let reason = ServiceAccountCheck.refusal(of: bytes, hosts: hosts) { problems.append("\(file): \(reason)") }
        return bytes
    }

    private mutating func serverKey(of project: Configuration.Project) -> String? {
        guard let file = project.serverKeyFile else {
            let transport = project.transport.rawValue
            problems.append("projects.\(project.id).server_key_file: none named; \(transport) needs a server key")
            return nil
        }
        let key = word(in: file)
        if key?.isEmpty == true { problems.append("\(file): must hold one key, printable ASCII without spaces") }
        return key
    }

    private mutating func adminToken() -> SecretText? {
        let admin = configuration.admin
        var token = admin.token.map { Self.isWord($0.value) ? $0.value : "" }
        if token == nil, let file = admin.tokenFile {
            token = word(in: file)
        } else if token == nil, let listen = admin.listen, !listen.isLocal {
            problems.append(
                "admin.listen: others than this machine can reach it, so it needs a bearer token: admin.token_file or "
                    + "\(SettingMerger.adminTokenVariable); or listen on 127.0.0.1 or unix:///path"
            )
        }
        guard let token else { return nil }
        if token.utf8.count < 16 {
            let source = admin.token == nil ? admin.tokenFile?.name : nil
            problems.append(
                "\(source ?? SettingMerger.adminTokenVariable): must hold one token, 16 characters or more, printable ASCII "
                    + "without spaces"
            )
        }
        return SecretText(token)
    }

    private mutating func password(_ given: SecretText?, _ file: ConfiguredFile?) -> SecretText? {
        if let given { return given }
        guard let file, var bytes = read(file, limit: Self.maximumWordBytes)?[...] else { return nil }
        // Editors end files with a newline. Other white space may belong to the password.
        while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            problems.append("\(file): must hold one password, a line of text")
            return nil
        }
        return SecretText(text)
    }

    private mutating func checkCertificates() {
        for file in [configuration.caFile, configuration.redis.certificateFile].compactMap({ $0 }) {
            let bytes = read(file, limit: Self.maximumCertificateBytes, isSecret: false)
            guard let bytes, !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
                continue
            }
            problems.append("\(file): the file holds no certificate; give one in PEM, with its BEGIN and END lines")
        }
        if let file = configuration.redis.keyFile { _ = read(file, limit: Self.maximumServiceAccountBytes) }
    }

    // MARK: Files

    /// The word that a file holds; empty if it holds anything else, nil if it cannot be read.
    private mutating func word(in file: ConfiguredFile) -> String? {
        guard let bytes = read(file, limit: Self.maximumWordBytes) else { return nil }
        // Editors end files with a newline. The word goes into a header, which may hold none.
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        return words.count == 1 && Self.isWord(words[0]) ? words[0] : ""
    }

    private static func isWord(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    private mutating func read(_ file: ConfiguredFile, limit: Int, isSecret: Bool = true) -> [UInt8]? {
        do throws(ConfigurationError) {
            let content = try file.read(limit: limit)
            if isSecret, content.isReadableByOthers { warnings.append(file.tooOpen) }
            return content.bytes
        } catch {
            problems += error.problems
            return nil
        }
    }
}
