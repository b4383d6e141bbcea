/// Programs by others that do the same work, and meet the worker in the same run. One line each.
enum Rivals {
    /// - Parameter notes: what could not be measured here, and why; printed with the report.
    static func v1(
        _ options: Options,
        sink: Sink,
        certificates: Certificates,
        in workspace: Workspace,
        notes: inout [String]
    ) throws -> [any Contender] {
        let loops = [
            try GoRival.contender(options, sink: sink, certificates: certificates, in: workspace, notes: &notes),
            try FirebaseRival.contender(options, sink: sink, certificates: certificates, in: workspace, notes: &notes),
        ]
        let redis = RedisRival.contender(options, in: workspace, notes: &notes)
        return loops.compactMap { $0 } + (redis.map { [$0] } ?? [])
    }

    /// What queues cost Redis that send nothing.
    static func singles(_ options: Options, in workspace: Workspace) -> [any Contender] {
        [
            StreamLoopRival(workspace: workspace, warmUp: options.warmUp),
            AsynqRival(workspace: workspace, warmUp: options.warmUp),
        ]
    }

    /// What moves as many bytes as the scenario `multicast` does, without sending anything.
    static func multicast(
        _ options: Options,
        in workspace: Workspace,
        notes: inout [String]
    ) throws -> [any Contender] {
        RedisRival.contender(options, in: workspace, notes: &notes).map { [$0] } ?? []
    }
}
