internal import RedisTransport

/// What others could do with Redis or on the route to it. A Redis on this machine has no concerns.
enum RedisExposure {
    /// Each concern is one sentence with a remedy.
    static func concerns(_ redis: RedisDeployment, user: String? = nil) -> [(text: String, remedy: String)] {
        guard !redis.isLoopback else { return [] }
        var concerns: [(text: String, remedy: String)] = []
        if redis.server.password == nil {
            concerns.append(
                ("over the network and without a password", "require a password or an ACL user of every client")
            )
        }
        if !redis.server.usesTLS {
            concerns.append(
                (
                    "over the network and without TLS: messages, tokens and the password can be read on the route",
                    "use rediss://, or a private network"
                )
            )
        }
        if user == "default" {
            concerns.append(
                ("signed in as the default user, which may do everything", "create an ACL user for the workers")
            )
        }
        return concerns
    }
}
