internal import FanfareJSON
internal import FanfareModel

/// The contents of the files that a configuration names. Printing and dumping show none of them.
public struct Secrets: Sendable, CustomStringConvertible, CustomReflectable {
    /// The bytes of service account files, by project.
    public var serviceAccounts: [String: [UInt8]] = [:]
    /// Server keys of the legacy and XMPP transports, by project.
    public var serverKeys: [String: String] = [:]
    public var redis = RedisPasswords()
    /// The bearer token of the admin address; nil if requests need none.
    public var adminToken: SecretText?
    /// Warnings about files that every user may read: one sentence each.
    public var warnings: [String] = []

    public var description: String { "[secrets]" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Configuration {
    /// Size limit of keys and service accounts.
    static let maximumSecretBytes = 65_536
    static let maximumCertificateBytes = 4 << 20

    /// Opens every file that the configuration names and checks what is in it.
    ///
    /// - Throws: every problem at once; no message repeats a part of a file.
    public func loadSecrets() throws(ConfigurationError) -> Secrets {
        var secrets = Secrets()
        var problems: [String] = []
        if projects.isEmpty { problems.append("projects: none; name at least one") }
        for project in projects {
            let place = "projects.\(project.id)"
            switch project.transport {
            case .v1: load(credentialsOf: project, place + ".credentials", into: &secrets, &problems)
            case .legacy: load(serverKeyOf: project, place + ".server_key_file", into: &secrets, &problems)
            case .xmpp:
                if project.senderID == nil { problems.append("\(place).sender_id: none; xmpp logs in with it") }
                load(serverKeyOf: project, place + ".server_key_file", into: &secrets, &problems)
            }
        }
        loadAdminToken(into: &secrets, &problems)
        secrets.redis = redisPasswords(&problems)
        secrets.warnings += secrets.redis.warnings
        for file in [caFile, redis.certificateFile].compactMap({ $0 }) {
            guard let content = read(file, limit: Self.maximumCertificateBytes, &problems) else { continue }
            guard String(decoding: content.bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
                problems.append("\(file): the file holds no certificate; give one in PEM, with its BEGIN and END lines")
                continue
            }
        }
        if let file = redis.keyFile, let content = read(file, limit: Self.maximumSecretBytes, &problems) {
            warn(content, file, &secrets)
        }
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        return secrets
    }

    private func loadAdminToken(into secrets: inout Secrets, _ problems: inout [String]) {
        let token: Substring
        let place: String
        if let given = admin.token {
            (token, place) = (given.value[...], SettingMerger.adminTokenVariable)
        } else if let file = admin.tokenFile {
            guard let content = read(file, limit: 4_096, &problems) else { return }
            warn(content, file, &secrets)
            // Editors end files with a newline.
            let words = String(decoding: content.bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            (token, place) = (words.count == 1 ? words[0] : "", file.name)
        } else if let listen = admin.listen, !listen.isLocal {
            problems.append(
                "admin.listen: others than this machine can reach it, so it needs a bearer token: admin.token_file or "
                    + "\(SettingMerger.adminTokenVariable); or listen on 127.0.0.1 or unix:///path"
            )
            return
        } else {
            return
        }
        guard token.utf8.count >= 16, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            problems.append("\(place): must hold one token, 16 characters or more, printable ASCII without spaces")
            return
        }
        secrets.adminToken = SecretText(String(token))
    }

    private func load(
        credentialsOf project: Project,
        _ place: String,
        into secrets: inout Secrets,
        _ problems: inout [String]
    ) {
        guard let file = project.credentials else {
            problems.append("\(place): none named; v1 needs a service account file")
            return
        }
        guard let content = read(file, limit: Self.maximumSecretBytes, &problems) else { return }
        if let reason = ServiceAccountCheck.refusal(of: content.bytes, hosts: HostPolicy(allowed: allowedHosts)) {
            problems.append("\(file): \(reason)")
            return
        }
        warn(content, file, &secrets)
        secrets.serviceAccounts[project.id] = content.bytes
    }

    private func load(
        serverKeyOf project: Project,
        _ place: String,
        into secrets: inout Secrets,
        _ problems: inout [String]
    ) {
        guard let file = project.serverKeyFile else {
            problems.append("\(place): none named; \(project.transport.rawValue) needs a server key")
            return
        }
        guard let content = read(file, limit: 4_096, &problems) else { return }
        // Editors end files with a newline, and the key goes into a header, which may hold none.
        let key = String(decoding: content.bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard key.count == 1, key[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            problems.append("\(file): must hold one key, printable ASCII without spaces")
            return
        }
        warn(content, file, &secrets)
        secrets.serverKeys[project.id] = String(key[0])
    }

    private func read(_ file: ConfiguredFile, limit: Int, _ problems: inout [String]) -> FileContent? {
        do throws(ConfigurationError) {
            return try file.read(limit: limit)
        } catch {
            problems += error.problems
            return nil
        }
    }

    private func warn(_ content: FileContent, _ file: ConfiguredFile, _ secrets: inout Secrets) {
        if content.isReadableByOthers { secrets.warnings.append(file.tooOpen) }
    }
}
