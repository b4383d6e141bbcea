import FCMWire
import FanfareJSON
import Testing

@testable import FCMSimulator

/// The limits on XMPP that "About FCM messages" gives.
extension AboutMessages {
    @Test("A65 A66: a project opens 400 connections a minute and has 2,500 at once")
    func connections() throws {
        var scene = try Scene()
        for _ in 1...400 { #expect(try scene.connect().isReady) }
        #expect(try scene.connect().isReady == false)
        for round in 1...6 {
            scene.advance(ms: 60_000)
            let opened = try (1...400).filter { _ in try scene.connect().isReady }.count
            #expect(opened == (round < 6 ? 400 : 100), "\(round)")
        }
        // A place is free when one ends.
        let any = try #require(scene.lines.values.first { $0.isReady })
        scene.advance(ms: 60_000)
        #expect(try scene.connect().isReady == false)
        try scene.cut(any)
        #expect(try scene.connect().isReady)
    }

    @Test("A70: a device sends 1,000 upstream messages a minute; the next is refused")
    func upstreamOfDevice() throws {
        var scene = try Scene()
        let line = try scene.connect()
        for index in 1...1_000 {
            #expect(try XMPPReference.upstream(&scene, #""from":"t","data":{}"#).status == 200, "\(index)")
            for (_, number) in line.incoming { try scene.handle(.acknowledge(number), on: line) }
            line.incoming = []
        }
        #expect(try XMPPReference.upstream(&scene, #""from":"t","data":{}"#).status == 429)
        #expect(try XMPPReference.upstream(&scene, #""from":"u","data":{}"#).status == 200)
        scene.advance(ms: 60_000)
        #expect(try XMPPReference.upstream(&scene, #""from":"t","data":{}"#).status == 200)
    }

    /// Counted where the simulator counts: a million and a half requests would take a test minutes.
    @Test("A69: a project's devices send 1,500,000 upstream messages a minute; the next is refused")
    func upstreamOfProject() throws {
        var queue = UpstreamQueue()
        var refused = 0
        for device in 0..<1_500 {
            let token = "t\(device)"
            for _ in 0..<1_000 where queue.reachedLimit(device: token, project: "demo", nowMs: 0) != nil {
                refused += 1
            }
        }
        #expect(refused == 0)
        #expect(queue.reachedLimit(device: "u", project: "demo", nowMs: 0) == "project")
        #expect(queue.reachedLimit(device: "u", project: "other", nowMs: 0) == nil)
        #expect(queue.reachedLimit(device: "v", project: "demo", nowMs: 60_000) == nil)
    }
}
