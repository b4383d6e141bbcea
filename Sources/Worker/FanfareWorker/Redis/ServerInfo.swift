/// What a worker has to know of the redis-server that answers it, from `INFO server memory`.
struct ServerInfo: Equatable {
    /// Names one run of one server: another one may lack the last seconds.
    let run: String?
    let evictionPolicy: String?
    let isInCluster: Bool

    init(_ info: String) {
        var values: [Substring: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = String(line[line.index(after: colon)...])
        }
        run = values["run_id"]
        evictionPolicy = values["maxmemory_policy"]
        isInCluster = values["redis_mode"] == "cluster"
    }

    /// What has to be changed before this server can be relied on; nil when nothing has.
    ///
    /// - Parameter knowsCluster: the worker was told that this is a cluster.
    func remedy(knowsCluster: Bool) -> String? {
        if isInCluster, !knowsCluster {
            return "begin redis.url with redis-cluster:// (it names one node of a cluster as if it were alone)"
        }
        guard let evictionPolicy, evictionPolicy != "noeviction" else { return nil }
        return
            "set maxmemory-policy to noeviction in redis.conf (it is \(evictionPolicy)): any other lets Redis drop jobs "
            + "and results"
    }
}
