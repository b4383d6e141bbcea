import Testing

@testable import FanfareWorker

@Suite struct ServerInfoTests {
    private static let fine =
        "# Server\r\nredis_mode:standalone\r\nrun_id:abc\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n"

    @Test func serverThatMayEvictIsRefused() {
        #expect(ServerInfo(Self.fine).remedy(knowsCluster: false) == nil)
        #expect(ServerInfo(Self.fine).runID == "abc")
        let evicting = Self.fine.replacing("noeviction", with: "allkeys-lru")
        #expect(ServerInfo(evicting).remedy(knowsCluster: false)?.contains("it is allkeys-lru") == true)
    }

    @Test func clusterNodeIsRefusedAsASingleServer() {
        let node = ServerInfo(Self.fine.replacing("standalone", with: "cluster"))
        #expect(node.remedy(knowsCluster: false)?.contains("redis-cluster://") == true)
        #expect(node.remedy(knowsCluster: true) == nil)
    }

    @Test func emptyAnswerIsAccepted() {
        #expect(ServerInfo("").remedy(knowsCluster: true) == nil)
        #expect(ServerInfo("").runID == nil)
    }
}
