internal import RedisTransport

/// What others could do on the way to Redis, or in it. A Redis on the same machine is nobody else's business.
enum RedisExposure {
    /// One sentence and one remedy each.
    static func concerns(_ redis: RedisDeployment, user: String? = nil) -> [(text: String, remedy: String)] {
        guard !redis.isLoopback else { return [] }
        var concerns: [(text: String, remedy: String)] = []
        if redis.server.password == nil {
            concerns.append(
                ("over the network and without a password", "have it ask every client for a password or an ACL user")
            )
        }
        if !redis.server.usesTLS {
            concerns.append(
                (
                    "over the network and without TLS: messages, tokens and the password can be read on the way",
                    "use rediss://, or a network that nobody else can listen on"
                )
            )
        }
        if user == "default" {
            concerns.append(
                ("signed in as the default user, who may do everything", "give workers an ACL user of their own")
            )
        }
        return concerns
    }
}
