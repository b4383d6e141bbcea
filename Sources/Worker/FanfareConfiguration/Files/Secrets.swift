public import FCMWire
public import FanfareModel

/// The contents of the files that a configuration names. Printing and dumping show none of them.
public struct Secrets: Equatable, Sendable, Redacted {
    /// The identities of projects with transport v1.
    public var credentials: [String: Credential] = [:]
    /// Server keys of the legacy and XMPP transports, by project.
    public var serverKeys: [String: String] = [:]
    /// Projects whose file of these was deleted while a worker ran, with the sentence that says so.
    public var deleted: [String: String] = [:]
    public var redis = RedisPasswords()
    /// The proxy with its user and password; nil for none.
    public var proxy: HTTPProxy?
    /// The bearer token of the admin address; nil if requests need none.
    public var adminToken: SecretText?
    /// Request headers for the OTLP collector.
    public var telemetryHeaders: [String] = []
    /// Hash of the content of each file that a worker reads at its start only, by setting. It is comparable within one
    /// process.
    public var startContents: [String: Int] = [:]
    public var concerns: [Concern] = []
    /// The concerns as sentences.
    public var warnings: [String] { concerns.map(\.sentence) }

    public var description: String { "[secrets]" }

    /// Takes over what another state knew of a project.
    public mutating func copy(_ project: String, from other: Secrets) {
        credentials[project] = other.credentials[project]
        serverKeys[project] = other.serverKeys[project]
        deleted[project] = other.deleted[project]
    }
}

/// A file that can be used and is probably a mistake: one that every user may read, or another project's.
public struct Concern: Equatable, Sendable {
    public var text: String
    public var remedy: String

    public init(_ text: String, remedy: String) {
        self.text = text
        self.remedy = remedy
    }

    public var sentence: String { "\(text); \(remedy)" }
}

/// The passwords for Redis from the environment and from files. A password in the URL stays there.
public struct RedisPasswords: Equatable, Sendable {
    public var servers: SecretText?
    public var sentinels: SecretText?
}

extension Configuration {
    /// Opens every file that the configuration names and checks its content.
    ///
    /// - Parameter running: the configuration that a worker runs under: a credential file that it names may have been
    ///   deleted. nil at the start, when every file must exist.
    /// - Throws: all faults, and all warnings of the configuration; no message repeats a part of a file.
    public func loadSecrets(replacing running: Configuration? = nil) throws(ConfigurationError) -> Secrets {
        var reader = SecretReader(configuration: self, deletable: running?.credentialPaths ?? [])
        let secrets = reader.secrets()
        guard reader.faults.isEmpty else {
            throw ConfigurationError(
                faults: reader.faults,
                warnings: warnings + secrets.warnings,
                hint: reader.hint
            )
        }
        return secrets
    }

    /// Reads the passwords for Redis, for commands that need no other secret.
    ///
    /// - Throws: all faults; no message repeats a part of a file.
    public func redisPasswords() throws(ConfigurationError) -> RedisPasswords {
        var reader = SecretReader(configuration: self)
        let passwords = reader.redisPasswords()
        guard reader.faults.isEmpty else { throw error(reader.faults) }
        return passwords
    }

    /// Reads the proxy's password, for checks that need no other secret.
    ///
    /// - Throws: all faults; no message repeats a part of a file.
    public func httpProxy() throws(ConfigurationError) -> HTTPProxy? {
        var reader = SecretReader(configuration: self)
        let proxy = reader.httpProxy()
        guard reader.faults.isEmpty else { throw error(reader.faults) }
        return proxy
    }
}
