import CurlTransport
import EventLoop
import Foundation
import HTTPLanes
import Testing

/// A connection whose packets vanish: nothing tells either end. Needs root and nftables.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: PacketFilter.isUsable))
struct BlackHoleTests {
    @Test(arguments: TestedEngine.tested) func blackHoledConnectionIsReplaced(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) {
            $0.maximumLanes = 1
            $0.userTimeoutMs = 1_500
            $0.timeoutsToRetire = 1_000
        }
        harness.run(20, url: peer.url)
        let filter = try PacketFilter(droppingConnectionsTo: peer.port)
        let started = SystemClock.bootNs
        let outcomes = harness.run(10, url: peer.url, timeoutMs: 15_000)
        #expect(outcomes.kinds["ambiguous", default: 0] >= 1, "\(outcomes)")
        // Well before the requests' own deadline.
        #expect(SystemClock.bootNs - started < 6_000_000_000)
        // The connection that follows is not cut off.
        #expect(harness.run(10, url: peer.url).kinds == ["200": 10])
        #expect(try peer.ledger().connections <= 3)
        filter.stop()
        #expect(try peer.ledger().received.values.allSatisfy { $0 == 1 })
    }
}

/// Drops the packets of the connections that a local port has at this moment, for as long as it stands.
final class PacketFilter {
    static var isUsable: Bool {
        getuid() == 0 && ["/usr/sbin/nft", "/sbin/nft"].contains { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private let table = "fanfare_test_\(getpid())"
    private var stands = false

    init(droppingConnectionsTo port: Int) throws {
        var rules = "add table inet \(table)\n"
        rules += "add chain inet \(table) out { type filter hook output priority 0; }\n"
        let clients = try Self.clients(of: port)
        try #require(!clients.isEmpty)
        for client in clients {
            rules += "add rule inet \(table) out tcp sport \(client) tcp dport \(port) drop\n"
            rules += "add rule inet \(table) out tcp sport \(port) tcp dport \(client) drop\n"
        }
        let file = try makeTemporaryDirectory("nft") + "/rules"
        try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
        try runTool("nft", ["-f", file])
        stands = true
    }

    deinit { stop() }

    /// The other ends' ports of a port's established connections.
    private static func clients(of port: Int) throws -> [Int] {
        var clients: [Int] = []
        for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
            // To its end: such a file tells no size, and a read by size stops at the first page.
            let handle = try #require(FileHandle(forReadingAtPath: file))
            let text = String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
            for line in text.split(separator: "\n").dropFirst() {
                let fields = line.split(separator: " ")
                let ends = fields[1...2].compactMap { $0.split(separator: ":").last.flatMap { Int($0, radix: 16) } }
                if fields[3] == "01", ends.count == 2, ends[1] == port { clients.append(ends[0]) }
            }
        }
        return clients
    }

    func stop() {
        guard stands else { return }
        stands = false
        try? runTool("nft", ["delete", "table", "inet", table])
    }
}
