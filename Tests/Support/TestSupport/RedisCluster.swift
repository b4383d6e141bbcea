internal import Foundation
public import StreamWire

/// A real Redis Cluster: primaries with equal shares of the slots, and one replica each.
public final class RedisCluster: Sendable {
    public let nodes: [RedisServer]
    private let primaries: Int

    /// - Parameters:
    ///   - port: the kind of port of every node; with TLS the nodes also use it between each other.
    ///   - config: additional settings of every node.
    public init(primaries: Int = 3, port: RedisServer.Port = .plain, config: [String] = []) throws {
        self.primaries = primaries
        var nodes: [RedisServer] = []
        var config = config
        if case .tls = port { config += ["--tls-cluster", "yes", "--tls-replication", "yes"] }
        for _ in 0..<primaries * 2 {
            let bus = try RedisServer.freePort()
            let settings = [
                "--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-node-timeout", "2000",
                "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
                "--repl-diskless-sync-delay", "0",
            ]
            nodes.append(try RedisServer(port: port, config: settings + config))
        }
        self.nodes = nodes
        for (index, node) in nodes.enumerated() {
            try node.cli("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            guard index < primaries else { continue }
            let (first, end) = (HashSlot.count * index / primaries, HashSlot.count * (index + 1) / primaries)
            try node.cli("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(end - 1)")
        }
        for node in nodes.dropFirst() {
            let bus = try node.cli("CONFIG", "GET", "cluster-port").split(whereSeparator: \.isNewline).last ?? ""
            try nodes[0].cli("CLUSTER", "MEET", "127.0.0.1", "\(node.port)", String(bus))
        }
        for node in nodes {
            try node.waitFor { try $0.cli("CLUSTER", "INFO").contains("cluster_known_nodes:\(nodes.count)") }
        }
        for (index, node) in nodes.dropFirst(primaries).enumerated() {
            let id = try nodes[index].cli("CLUSTER", "MYID")
            // A node that counts all others may not know their ids yet.
            try node.waitFor { try $0.cli("CLUSTER", "REPLICATE", id) == "OK" }
        }
        for node in nodes { try node.waitFor { try $0.cli("CLUSTER", "INFO").contains("cluster_state:ok") } }
        for node in nodes.dropFirst(primaries) {
            try node.waitFor { try $0.cli("INFO", "replication").contains("master_link_status:up") }
        }
    }

    /// The addresses of three nodes for a URL, as `host:port` separated by commas.
    public var seeds: String { nodes.suffix(3).map { "127.0.0.1:\($0.port)" }.joined(separator: ",") }

    public func stop() { for node in nodes { node.stop() } }

    /// The primary that owns a slot, according to the live nodes.
    public func primary(of slot: HashSlot) throws -> RedisServer {
        for node in nodes {
            guard let text = try? node.cli("CLUSTER", "NODES") else { continue }
            guard let line = text.split(separator: "\n").first(where: { $0.contains("myself,master") }) else {
                continue
            }
            let ranges = line.split(separator: " ").dropFirst(8).compactMap { part -> ClosedRange<Int>? in
                let ends = part.split(separator: "-").compactMap { Int($0) }
                return ends.isEmpty || part.hasPrefix("[") ? nil : ends[0]...max(ends[0], ends[ends.count - 1])
            }
            if ranges.contains(where: { $0.contains(slot.number) }) { return node }
        }
        throw TestFailure("no live node owns slot \(slot.number)")
    }

    // MARK: Moving a slot, as redis-cli does it

    public func beginMove(of slot: HashSlot, from source: RedisServer, to target: RedisServer) throws {
        try expectOK(target.cli("CLUSTER", "SETSLOT", "\(slot.number)", "IMPORTING", source.cli("CLUSTER", "MYID")))
        try expectOK(source.cli("CLUSTER", "SETSLOT", "\(slot.number)", "MIGRATING", target.cli("CLUSTER", "MYID")))
    }

    /// - Returns: how many keys it moved, at most `limit`.
    @discardableResult
    public func moveKeys(of slot: HashSlot, from source: RedisServer, to target: RedisServer, limit: Int) throws -> Int
    {
        let keys = try source.cli("CLUSTER", "GETKEYSINSLOT", "\(slot.number)", "\(limit)")
            .split(separator: "\n").map(String.init)
        for key in keys {
            try expectOK(source.cli("MIGRATE", "127.0.0.1", "\(target.port)", key, "0", "10000"))
        }
        return keys.count
    }

    public func endMove(of slot: HashSlot, from source: RedisServer, to target: RedisServer) throws {
        let id = try target.cli("CLUSTER", "MYID")
        for node in [target, source] + nodes.filter({ $0 !== target && $0 !== source }) {
            // Replicas follow their primary, and a node that is down learns it later.
            _ = try? node.cli("CLUSTER", "SETSLOT", "\(slot.number)", "NODE", id)
        }
    }

    private func expectOK(_ answer: String) throws {
        guard answer == "OK" || answer == "NOKEY" else { throw TestFailure("redis-server answered \(answer)") }
    }
}
