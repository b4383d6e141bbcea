public import FanfareModel

/// The contents of the files that a configuration names. Printing and dumping show none of them.
public struct Secrets: Sendable, Redacted {
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
}

/// The passwords for Redis from the environment and from files. A password in the URL stays there.
public struct RedisPasswords: Equatable, Sendable {
    public var servers: SecretText?
    public var sentinels: SecretText?
}

extension Configuration {
    /// Opens every file that the configuration names and checks its content.
    ///
    /// - Throws: all problems; no message repeats a part of a file.
    public func loadSecrets() throws(ConfigurationError) -> Secrets {
        var reader = SecretReader(configuration: self)
        let secrets = reader.secrets()
        guard reader.problems.isEmpty else { throw ConfigurationError(problems: reader.problems) }
        return secrets
    }

    /// Reads the passwords for Redis, for commands that need no other secret.
    ///
    /// - Throws: all problems; no message repeats a part of a file.
    public func redisPasswords() throws(ConfigurationError) -> RedisPasswords {
        var reader = SecretReader(configuration: self)
        let passwords = reader.redisPasswords()
        guard reader.problems.isEmpty else { throw ConfigurationError(problems: reader.problems) }
        return passwords
    }
}
