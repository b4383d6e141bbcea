import EventLoop
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A slot whose migration was cut short.
@Suite struct UnfinishedMigrationTests {
    /// A replica that replaces the old node does not know that the slot was moving, and serves the keys that are left.
    @Test func connectionWaitsWhileTwoPrimariesHaveKeysOfItsSlot() throws {
        let cluster = try RedisCluster(primaries: 2)
        defer { cluster.stop() }
        let base = ProjectKeys(project: "p").base
        let slot = HashSlot(key: base)
        let source = try cluster.primary(of: slot)
        let target = try #require(cluster.nodes.prefix(2).first { $0 !== source })
        for number in 0..<4 { try source.cli("SET", "\(base)\(number)", "v") }
        try cluster.beginMove(of: slot, from: source, to: target)
        try cluster.moveKeys(of: slot, from: source, to: target, limit: 2)
        // The new node of the slot has no mark of the migration.
        try source.cli("CLUSTER", "SETSLOT", "\(slot.number)", "STABLE")
        let seen = Locked<[String]>([])
        let deployment = try RedisDeployment(url: "redis-cluster://\(cluster.seeds)")
        try runLoop { loop in
            let connection = RedisConnection(
                loop: loop,
                deployment: deployment,
                key: base,
                requiresWholeSlot: true,
                name: "a test"
            )
            connection.onStateChange = { state in
                switch state {
                case .unavailable(let error):
                    guard seen.withLock({ $0.isEmpty }) else { return }
                    seen.withLock { $0.append(error.message) }
                    _ = try? cluster.moveKeys(of: slot, from: source, to: target, limit: 10)
                    _ = try? cluster.endMove(of: slot, from: source, to: target)
                case .ready:
                    guard case .tcp(let host, let port) = connection.endpoint.address else { break }
                    seen.withLock { $0.append("\(host):\(port)") }
                    connection.onStateChange = { _ in }
                    connection.close()
                    loop.stop()
                default: break
                }
            }
            connection.connect()
        }
        let (from, to) = ("127.0.0.1:\(source.port)", "127.0.0.1:\(target.port)")
        let reason =
            "2 keys of slot \(slot.number) are on \(to), and \(from) serves it: its migration is not finished, see "
            + "redis-cli --cluster fix"
        #expect(seen.withLock { $0 } == [reason, to])
    }
}
