internal import Foundation

/// What Redis alone moves: redis-benchmark with the bytes that a worker and a producer move for the same recipients,
/// and nothing done with them. Its sends are recipients whose bytes were moved.
struct RedisRival: Contender {
    static let tool = Tool(name: "redis-benchmark", package: "redis-tools")

    let name = "redis-benchmark"
    let summary = "what Redis alone moves: the bytes of entries, batches and results, 1,000 recipients a command"
    let path: String
    let workspace: Workspace
    let limitSeconds: Double

    /// nil, with a note, where the program is missing.
    static func contender(_ options: Options, in workspace: Workspace, notes: inout [String]) -> RedisRival? {
        guard let path = tool.path else {
            notes.append("redis-benchmark is missing and left out: apt-get install \(tool.package)")
            return nil
        }
        return RedisRival(path: path, workspace: workspace, limitSeconds: options.limitSeconds)
    }

    func run(sends: Int) throws -> RunSample {
        let redis = try PrivateRedis(in: workspace)
        defer { redis.stop() }
        let thousands = max(1, sends / 1_000)
        let redisBefore = try redis.cpuNs()
        let started = Patience.now()
        var used = 0
        for command in Self.commands {
            let child = try Child(
                name,
                path,
                ["-s", workspace.file("redis.sock"), "-c", "1", "-n", "\(thousands)", "--csv"] + command,
                in: workspace
            )
            used += try child.finish(seconds: limitSeconds).cpuNs
        }
        return RunSample(
            sends: thousands * 1_000,
            wallSeconds: Patience.now() - started,
            cpuSeconds: Double(used) / 1e9,
            redisCPUSeconds: Double(try redis.cpuNs() - redisBefore) / 1e9
        )
    }

    /// For 1,000 recipients: the producer's entry in and out, the batch in and out, the results in. Trimmed, so that
    /// memory does not grow with their number.
    static var commands: [[String]] {
        let tokens = fields((0..<1_000).map { "\"\(Payload.token($0))\"" })
        let results = fields((0..<1_000).map(result))
        func add(_ key: String, _ fields: [String]) -> [String] { ["XADD", key, "MAXLEN", "~", "100", "*"] + fields }
        let last = ["XREVRANGE", "entries", "+", "-", "COUNT", "1"]
        return [add("entries", tokens), last, add("entries", tokens), last, add("results", results)]
    }

    /// One result as a worker writes it.
    static func result(_ index: Int) -> String {
        let id = "projects/\(Sink.project)/messages/0:1"
        return """
            {"i":\(index),"token":"\(Payload.token(index))","status":"sent","message_id":"\(id)","attempts":1}
            """
    }

    /// A few fields: the kernel takes no argument of a command line that is longer than 128 KiB.
    static func fields(_ items: [String]) -> [String] {
        let length = (items.count + 3) / 4
        return stride(from: 0, to: items.count, by: length).flatMap { start -> [String] in
            let part = items[start..<min(items.count, start + length)]
            return ["f\(start)", part.joined(separator: ",")]
        }
    }
}
