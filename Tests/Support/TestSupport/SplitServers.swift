/// Servers that can be cut off from their Sentinels and replicas but not from other clients. Sentinels and replicas
/// sign in as ACL users; deleting a user closes its connections.
public enum SplitServers {
    /// Lines for the file of `--aclfile`.
    public static let users = [
        "user admin on >admin ~* &* +@all", "user watcher on >watcher ~* &* +@all",
        "user replicator on >replicator +psync +replconf +ping",
    ]
    public static let settings = ["--masteruser", "replicator", "--masterauth", "replicator"]
    /// Lines of a Sentinel's configuration.
    public static let sentinels = ["sentinel auth-user main watcher", "sentinel auth-pass main watcher"]

    /// Cuts a server off from its Sentinels and replicas.
    public static func cutOff(_ server: RedisServer) throws {
        // A Sentinel that fails to sign in would continue as the default user.
        try ask(server, "ACL", "SETUSER", "default", "off")
        try ask(server, "ACL", "DELUSER", "watcher", "replicator")
    }

    /// Prevents replicas from following this server. Called before a failover to it, this prolongs the failover's last
    /// phase, the reconfiguration of replicas, until the Sentinels give up.
    public static func refuseReplicas(_ server: RedisServer) throws {
        try ask(server, "ACL", "DELUSER", "replicator")
    }

    /// The output of `CLIENT LIST`, also of a server that was cut off.
    public static func clients(of server: RedisServer) throws -> String { try ask(server, "CLIENT", "LIST") }

    @discardableResult
    private static func ask(_ server: RedisServer, _ words: String...) throws -> String {
        try server.cli(["--no-auth-warning", "--user", "admin", "--pass", "admin"] + words)
    }
}
