/// The fields of `INFO` that a worker needs.
struct ServerInfo: Equatable {
    /// Identifies one run of one server: another one may lack the last seconds of writes.
    let runID: String?
    let evictionPolicy: String?
    let isInCluster: Bool

    init(_ info: String) {
        var values: [Substring: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = String(line[line.index(after: colon)...])
        }
        runID = values["run_id"]
        evictionPolicy = values["maxmemory_policy"]
        isInCluster = values["redis_mode"] == "cluster"
    }

    /// What an operator has to change before workers can use this server; nil if it can be used as it is.
    ///
    /// - Parameter knowsCluster: the worker's configuration names a cluster.
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
