/// The passwords for Redis from the environment and from files. A password in the URL stays there.
public struct RedisPasswords: Equatable, Sendable {
    public var servers: SecretText?
    public var sentinels: SecretText?
    /// Warnings about files that every user may read: one sentence each.
    public var warnings: [String] = []
}

extension Configuration {
    /// Reads the passwords for Redis, for commands that need no other secret.
    ///
    /// - Throws: every problem at once; no message repeats a part of a file.
    public func redisPasswords() throws(ConfigurationError) -> RedisPasswords {
        var problems: [String] = []
        let passwords = redisPasswords(&problems)
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        return passwords
    }

    func redisPasswords(_ problems: inout [String]) -> RedisPasswords {
        var warnings: [String] = []
        let servers = password(redis.password, redis.passwordFile, &warnings, &problems)
        let sentinels = password(redis.sentinelPassword, redis.sentinelPasswordFile, &warnings, &problems)
        if servers != nil, Self.holdsPassword(redis.url.value) {
            problems.append(
                "redis.url: holds a password, and redis.password_file or \(SettingMerger.redisPasswordVariable) says "
                    + "another; leave one out"
            )
        }
        return RedisPasswords(servers: servers, sentinels: sentinels, warnings: warnings)
    }

    private func password(
        _ given: SecretText?,
        _ file: ConfiguredFile?,
        _ warnings: inout [String],
        _ problems: inout [String]
    ) -> SecretText? {
        if let given { return given }
        guard let file else { return nil }
        do throws(ConfigurationError) {
            let content = try file.read(limit: 4_096)
            if content.isReadableByOthers { warnings.append(file.tooOpen) }
            // Editors end files with a newline. Other white space may belong to the password.
            var bytes = content.bytes[...]
            while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty,
                !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else {
                problems.append("\(file): must hold one password, a line of text")
                return nil
            }
            return SecretText(text)
        } catch {
            problems += error.problems
            return nil
        }
    }

    /// Settings of Redis that contradict each other.
    func redisContradictions() -> [String] {
        var problems: [String] = []
        if redis.user != nil, Self.holdsUser(redis.url.value) {
            problems.append("redis.user: redis.url names a user too; leave one out")
        }
        return problems
    }

    func idleRedisSettings() -> [String] {
        guard !redis.url.value.lowercased().hasPrefix("redis-sentinel:"),
            !redis.url.value.lowercased().hasPrefix("rediss-sentinel:")
        else { return [] }
        let said = [
            ("redis.sentinel_user", redis.sentinelUser != nil),
            ("redis.sentinel_password_file", redis.sentinelPasswordFile != nil),
            ("redis.sentinel_tls", redis.sentinelTLS != .same),
        ]
        return said.filter { $0.1 }.map { "\($0.0): has no effect unless redis.url begins with redis-sentinel://" }
    }

    private static func holdsUser(_ url: String) -> Bool {
        guard let start = url.firstRange(of: "://"), let at = url.lastIndex(of: "@"), start.upperBound < at else {
            return false
        }
        return url[start.upperBound] != ":"
    }
}
