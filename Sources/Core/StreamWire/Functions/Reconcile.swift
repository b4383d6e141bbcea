extension FunctionLibrary {
    /// A batch as its holder knows it.
    public struct KnownBatch: Equatable, Sendable {
        public var name: String
        /// Number of the last call that Redis has confirmed; 0 for none.
        public var call: Int
        /// The watermark: sends below this position may have begun.
        public var watermark: Int
        public init(name: String, call: Int, watermark: Int) {
            self.name = name
            self.call = call
            self.watermark = watermark
        }
    }

    /// Compares what a worker holds with what Redis has in its name. Answers a ``ReconcileReply``.
    ///
    /// - Parameters:
    ///   - connection: number of the worker's connection; the reply to an earlier connection's call is an error.
    ///   - isSameServer: Redis has lost nothing, so the worker never sent a batch that it does not know.
    public static func reconcile(
        _ keys: ProjectKeys,
        worker: String,
        connection: Int = 0,
        isSameServer: Bool,
        known: [KnownBatch]
    ) -> RedisCommand {
        call(
            "reconcile",
            keys,
            ["worker": worker, "connection": String(connection), "is_same_server": isSameServer ? "1" : "0"],
            rest: known.flatMap { [$0.name, String($0.call), String($0.watermark)] }
        )
    }

    /// Gives back a batch without requests in flight. Answers 1; 0 when the worker was not its holder.
    ///
    /// - Parameter watermark: nil when Redis knows it.
    public static func release(
        _ keys: ProjectKeys,
        worker: String,
        batch: String,
        epoch: String,
        watermark: Int? = nil
    ) -> RedisCommand {
        let watermark = watermark.map { String($0) } ?? ""
        return call("release", keys, ["worker": worker, "batch": batch, "epoch": epoch, "watermark": watermark])
    }
}

public struct ReconcileReply: Equatable, Sendable {
    /// Number of batches that the worker did not know, and that went back.
    public var freed: Int
    /// Names of batches that the worker holds no longer.
    public var lost: [String]

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value), let freed = reply.number("freed"), let lost = reply["lost"]?.array
        else {
            return nil
        }
        self.freed = Int(freed)
        self.lost = lost.compactMap(\.string)
    }
}
