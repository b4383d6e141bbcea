/// Servers that can be cut off from their Sentinels and replicas, and not from their other clients: those sign in as users
/// whom a server can forget, and a deleted user's connections are closed.
public enum SplitServers {
    /// Lines of the file for `--aclfile`.
    public static let users = [
        "user admin on >admin ~* &* +@all", "user watcher on >watcher ~* &* +@all",
        "user replicator on >replicator +psync +replconf +ping",
    ]
    public static let settings = ["--masteruser", "replicator", "--masterauth", "replicator"]
    /// Lines of a Sentinel's configuration.
    public static let sentinels = ["sentinel auth-user main watcher", "sentinel auth-pass main watcher"]

    public static func cutOff(_ server: RedisServer) throws {
        // A Sentinel that fails to sign in would go on as the default user.
        try ask(server, "ACL", "SETUSER", "default", "off")
        try ask(server, "ACL", "DELUSER", "watcher", "replicator")
    }

    /// Keeps every replica from following this server. Before a failover to it: its last part, in which the replicas are
    /// told, then lasts until the Sentinels give up.
    public static func refuseReplicas(_ server: RedisServer) throws {
        try ask(server, "ACL", "DELUSER", "replicator")
    }

    /// `CLIENT LIST` of a server that may have been cut off.
    public static func clients(of server: RedisServer) throws -> String { try ask(server, "CLIENT", "LIST") }

    @discardableResult
    private static func ask(_ server: RedisServer, _ words: String...) throws -> String {
        try server.cli(["--no-auth-warning", "--user", "admin", "--pass", "admin"] + words)
    }
}
