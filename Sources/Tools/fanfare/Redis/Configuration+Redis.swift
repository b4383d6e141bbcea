internal import FanfareConfiguration
internal import OpenSSLKit
internal import RedisTransport

extension Configuration {
    /// The address of Redis, with user and the passwords of the configuration.
    func deployment() throws(ConfigurationError) -> RedisDeployment { try deployment(try redisPasswords()) }

    /// The address of Redis, with user and passwords.
    func deployment(_ passwords: RedisPasswords) throws(ConfigurationError) -> RedisDeployment {
        let named: RedisDeployment
        do throws(RedisURLError) {
            named = try RedisDeployment(url: redis.url.value)
        } catch {
            throw self.error(["redis.url: \(error.reason)"])
        }
        let user = redis.user ?? named.server.user
        let password = passwords.servers?.value ?? named.server.password
        if user != nil, password == nil {
            throw error(["redis.user: has no password; set redis.password_file or FANFARE_REDIS_PASSWORD"])
        }
        if redis.certificateFile != nil, !named.server.usesTLS {
            throw error(["redis.cert_file: redis.url does not use TLS; begin it with rediss"])
        }
        return named.signedIn(user: user, password: password).askingSentinels(
            user: redis.sentinelUser,
            password: passwords.sentinels?.value,
            usesTLS: redis.sentinelTLS == .same ? nil : redis.sentinelTLS == .yes
        )
    }

    var redisTLS: TLSOptions {
        TLSOptions(caFile: caFile?.path, certFile: redis.certificateFile?.path, keyFile: redis.keyFile?.path)
    }
}
