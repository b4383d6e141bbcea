internal import FCMWire
internal import FanfareModel

/// Reads the files that a configuration names, and collects faults and warnings.
struct SecretReader {
    let configuration: Configuration
    private(set) var faults: [String] = []
    /// How to get the missing files, if the sandbox writes them; nil otherwise.
    private(set) var hint: String?
    private(set) var concerns: [Concern] = []
    private var startContents: [String: Int] = [:]

    private static let maximumCertificateBytes = 4 << 20
    private static let maximumKeyBytes = 65_536
    private static let maximumWordBytes = 4_096

    /// Paths of files that may be missing.
    private let deletable: Set<String>
    private var deleted: Set<String> = []

    init(configuration: Configuration, deletable: Set<String> = []) {
        self.configuration = configuration
        self.deletable = deletable
    }

    mutating func secrets() -> Secrets {
        var secrets = Secrets()
        if configuration.projects.isEmpty {
            let hint =
                configuration.file == nil
                ? "; there is no file (\(Configuration.places)), `fanfare init` writes one" : ""
            faults.append("projects: none; name at least one" + hint)
        }
        for project in configuration.projects {
            switch project.traits.identity {
            case .accessToken: secrets.credentials[project.id] = credential(of: project)
            case .serverKey: secrets.serverKeys[project.id] = serverKey(of: project)
            case .login:
                if project.senderID == nil {
                    faults.append("projects.\(project.id).sender_id: none; xmpp logs in with it")
                }
                secrets.serverKeys[project.id] = serverKey(of: project)
            }
        }
        for project in configuration.projects {
            guard let file = project.secretFile, deleted.contains(file.path) else { continue }
            let setting = project.traits.usesAccessToken ? "credentials" : "server_key_file"
            secrets.deleted[project.id] = "\(setting): the file was deleted"
        }
        secrets.adminToken = adminToken(of: configuration.admin.listen, "admin.listen")
        secrets.redis = redisPasswords()
        secrets.proxy = httpProxy()
        secrets.telemetryHeaders = telemetryHeaders()
        checkCertificates()
        secrets.startContents = startContents
        secrets.concerns = concerns
        return secrets
    }

    mutating func redisPasswords() -> RedisPasswords {
        let redis = configuration.redis
        let servers = password(redis.password, redis.passwordFile)
        let sentinels = password(redis.sentinelPassword, redis.sentinelPasswordFile)
        if servers != nil, Configuration.holdsPassword(redis.url.value) {
            faults.append(
                "redis.url: holds a password, and redis.password_file or \(SettingMerger.redisPasswordVariable) says "
                    + "another; leave one out"
            )
        }
        return RedisPasswords(servers: servers, sentinels: sentinels)
    }

    mutating func httpProxy() -> HTTPProxy? {
        let given = password(configuration.proxyPassword, configuration.proxyPasswordFile)
        // The configuration's rules have checked it.
        guard let text = configuration.proxy?.value, let url = try? ProxyURL(text) else { return nil }
        let user = url.user ?? configuration.proxyUser
        let variable = SettingMerger.proxyPasswordVariable
        if url.password != nil, given != nil {
            faults.append(
                "proxy: holds a password, and proxy_password_file or \(variable) says another; leave one out"
            )
        } else if user == nil, given != nil {
            faults.append(
                "proxy_password_file: the password is of no user; set proxy_user, or leave the password out"
            )
        } else if user != nil, url.password == nil, given == nil {
            let path = url.user == nil ? "proxy_user" : "proxy"
            faults.append("\(path): the user has no password; set proxy_password_file or \(variable)")
        }
        return HTTPProxy(address: url.address, user: user ?? "", password: url.password ?? given?.value ?? "")
    }

    private mutating func credential(of project: Configuration.Project) -> Credential? {
        let path = "projects.\(project.id).credentials"
        let credential: Credential
        switch project.credentials {
        case .file(let file):
            guard let read = self.credential(in: file) else { return nil }
            credential = read
        case .metadata: credential = .metadata(MetadataServer(host: configuration.metadataHost))
        case nil:
            // Whether it answers is found out by the commands that may connect.
            credential = .metadata(MetadataServer(host: configuration.metadataHost, isAssumed: true))
            concerns.append(
                Concern(
                    "\(path): none named, so the metadata server of Google Cloud would be used",
                    remedy: "name a credential file, or set credentials: metadata"
                )
            )
        }
        let setting = project.credentials?.file?.name ?? path
        let check = CredentialCheck(credential: credential, hosts: HostPolicy(allowed: configuration.allowedHosts))
        if let fault = check.fault {
            faults.append(credential.kind == .metadata ? fault : "\(setting): \(fault)")
        } else {
            concerns += check.concerns(of: setting, in: project)
        }
        return credential
    }

    private mutating func credential(in file: ConfiguredFile) -> Credential? {
        guard let bytes = read(file, limit: Credential.maximumBytes) else { return nil }
        do throws(CredentialError) {
            return try Credential.parse(bytes, folder: file.folder)
        } catch {
            faults.append("\(file): \(error.reason)")
            return nil
        }
    }

    private mutating func serverKey(of project: Configuration.Project) -> String? {
        guard let file = project.serverKeyFile else {
            let transport = project.transport.rawValue
            faults.append("projects.\(project.id).server_key_file: none named; \(transport) needs a server key")
            return nil
        }
        let key = word(in: file)
        if key?.isEmpty == true { faults.append("\(file): must hold one key, printable ASCII without spaces") }
        return key
    }

    /// The lines of the headers' file, or of OpenTelemetry's variable; empty if there is none, or a fault with it.
    private mutating func telemetryHeaders() -> [String] {
        guard let file = configuration.telemetry.headersFile else {
            return configuration.telemetry.headers.map(\.value)
        }
        guard let bytes = read(file, limit: Self.maximumWordBytes) else { return [] }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let lines = Self.headers(text.split(whereSeparator: \.isNewline).map(String.init)) else {
            faults.append("\(file): must hold 1 to 16 request headers, one `Name: value` a line, in printable ASCII")
            return []
        }
        return lines
    }

    /// The lines if they are 1 to 16 request headers; nil otherwise.
    static func headers(_ lines: [String]) -> [String]? {
        (1...16).contains(lines.count) && lines.allSatisfy(isHeader) ? lines : nil
    }

    /// Whether a text is `Name: value`. The content's headers are Fanfare's own.
    private static func isHeader(_ line: String) -> Bool {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, line.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return false }
        let isName = !parts[0].isEmpty && parts[0].utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
        return isName && parts[1].contains { $0 != " " } && !parts[0].lowercased().hasPrefix("content-")
    }

    /// - Parameters:
    ///   - listen: the address that needs the token.
    ///   - setting: of the address.
    mutating func adminToken(of listen: ListenAddress?, _ setting: String) -> SecretText? {
        let admin = configuration.admin
        var token = admin.token.map { Self.isWord($0.value) ? $0.value : "" }
        if token == nil, let file = admin.tokenFile {
            token = word(in: file)
        } else if token == nil, let listen, !listen.isLocal {
            faults.append(
                "\(setting): others than this machine can reach it, so it needs a bearer token: admin.token_file or "
                    + "\(SettingMerger.adminTokenVariable); or listen on 127.0.0.1 or unix:///path"
            )
        }
        guard let token else { return nil }
        if token.utf8.count < 16 {
            let source = admin.token == nil ? admin.tokenFile?.name : nil
            faults.append(
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
            faults.append("\(file): must hold one password, a line of text")
            return nil
        }
        return SecretText(text)
    }

    private mutating func checkCertificates() {
        check(certificate: configuration.caFile)
        check(certificate: configuration.redis.certificateFile, key: configuration.redis.keyFile)
    }

    mutating func checkGateway() {
        check(certificate: configuration.gateway.certificateFile, key: configuration.gateway.keyFile)
    }

    private mutating func check(certificate: ConfiguredFile?, key: ConfiguredFile? = nil) {
        if let file = certificate,
            let bytes = read(file, limit: Self.maximumCertificateBytes, isSecret: false, isPEM: true),
            !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----")
        {
            faults.append("\(file): the file holds no certificate; give one in PEM, with its BEGIN and END lines")
        }
        if let key { _ = read(key, limit: Self.maximumKeyBytes, isPEM: true) }
    }

    // MARK: Files

    /// Whether the sandbox writes a file of this name, and a project sends to this machine.
    private func isOfSandbox(_ file: ConfiguredFile) -> Bool {
        let name = file.path.dropFirst(file.folder.count)
        return (name == "ca.pem" || name.hasPrefix("service-account-") || name.hasPrefix("server-key-"))
            && configuration.projects.contains { project in
                HostPolicy.host(authority: project.authority).map { Loopback.names($0) } == true
            }
    }

    /// The word that a file holds; empty if it holds anything else, nil if it cannot be read.
    private mutating func word(in file: ConfiguredFile) -> String? {
        guard let bytes = read(file, limit: Self.maximumWordBytes) else { return nil }
        // Editors end files with a newline. The word goes into a header, which may hold none.
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        return words.count == 1 && Self.isWord(words[0]) ? words[0] : ""
    }

    private static func isWord(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    /// - Parameter isPEM: the TLS libraries read the file, too, and skip a first block after a byte order mark.
    private mutating func read(
        _ file: ConfiguredFile,
        limit: Int,
        isSecret: Bool = true,
        isPEM: Bool = false
    ) -> [UInt8]? {
        do throws(ConfigurationError) {
            let content = try file.read(limit: limit)
            if isPEM, content.hasByteOrderMark, content.bytes.starts(with: "-----BEGIN".utf8) {
                throw file.fault(
                    "begins with a byte order mark, which PEM may not have; save it as UTF-8 without one"
                )
            }
            if isSecret, content.isReadableByOthers { concerns.append(file.tooOpen) }
            for (setting, start) in configuration.startFiles where start == file {
                startContents[setting] = content.bytes.hashValue
            }
            return content.bytes
        } catch {
            if deletable.contains(file.path), file.isMissing {
                deleted.insert(file.path)
            } else {
                faults += error.faults
                if file.isMissing, isOfSandbox(file) {
                    hint = "`fanfare sandbox` writes the missing files: start it first, with each of these projects"
                }
            }
            return nil
        }
    }
}
