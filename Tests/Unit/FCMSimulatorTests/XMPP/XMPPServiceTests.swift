import FanfareJSON
import FanfareXML
import Testing

@testable import FCMSimulator

/// The XMPP service alone: connections, answers, acks, draining. A test answers the downstream messages itself.
@Suite struct XMPPServiceTests {
    private static let projects = [Trial.project, Trial.other]

    private struct Stage {
        var service = XMPPService()
        var ids = IdentifierSource(seed: 1)
        var nowMs: Int64 = 0

        mutating func receive(_ event: XMLStreamEvent, on id: UInt64) -> XMPPInput? {
            service.receive(event, on: id, projects: XMPPServiceTests.projects, ids: &ids, nowMs: nowMs)
        }

        /// A connection that is bound; its output so far is removed.
        mutating func bind(_ project: SimulatedProject = Trial.project) throws -> UInt64 {
            let opened = service.open()
            let id = try #require(opened)
            let header = XMLStreamEvent.opened(
                XMLName("stream", in: XMPPNames.stream),
                attributes: ["to": XMPPNames.domains[0], "version": "1.0"]
            )
            _ = receive(header, on: id)
            let credential = XMPPTrial.plain(project.senderID + "@gcm.googleapis.com", project.serverKey)
            let auth = XMLElement(
                XMLName("auth", in: XMPPNames.sasl),
                attributes: ["mechanism": "PLAIN"],
                children: [.text(credential)]
            )
            _ = receive(.element(auth), on: id)
            _ = receive(header, on: id)
            let bind = XMLElement(
                XMLName("iq", in: XMPPNames.client),
                attributes: ["type": "set", "id": "b"],
                children: [.element(XMLElement(XMLName("bind", in: XMPPNames.bind)))]
            )
            _ = receive(.element(bind), on: id)
            let bound = texts().last ?? ""
            try #require(bound.contains("<jid>"))
            return id
        }

        mutating func message(_ json: String, on id: UInt64) -> XMPPInput? {
            let gcm = XMLElement(XMLName("gcm", in: XMPPNames.data), children: [.text(json)])
            return receive(
                .element(XMLElement(XMLName("message", in: XMPPNames.client), children: [.element(gcm)])),
                on: id
            )
        }

        /// A downstream message of that id.
        mutating func downstream(_ messageID: String, on id: UInt64) -> XMPPSend? {
            guard case .downstream(let send)? = message(#"{"to":"t","message_id":"\#(messageID)"}"#, on: id) else {
                return nil
            }
            return send
        }

        mutating func actions() -> [XMPPOutput.Action] { service.removeOutput().map(\.action) }

        mutating func texts() -> [String] {
            actions().compactMap { action in
                guard case .write(let bytes) = action else { return nil }
                return String(decoding: bytes, as: UTF8.self)
            }
        }

        mutating func upstream(_ messageID: String, lifetimeMs: Int64 = 1_000, isNowOrNever: Bool = false) -> Bool {
            service.sendUpstream(
                Upstream(
                    messageID: messageID,
                    from: "t",
                    json: Array("{}".utf8),
                    expiresMs: nowMs + lifetimeMs,
                    isNowOrNever: isNowOrNever
                ),
                project: Trial.project.id
            )
        }

        func count(_ name: String) -> Int64? { service.report.object?[name]?.number?.int64 }
    }

    @Test func `a downstream message is handed out, a malformed one is refused`() throws {
        var stage = Stage()
        let id = try stage.bind()
        #expect(stage.downstream("m1", on: id)?.messageID == "m1")
        #expect(stage.service.connections[id]?.project?.id == Trial.project.id)
        #expect(stage.actions() == [])
        #expect(stage.message("{", on: id) == .malformed("INVALID_JSON"))
        #expect(stage.texts().first?.contains("type=\"error\"") == true)
        #expect(stage.message(#"{"message_id":"m2"}"#, on: id) == .malformed("INVALID_JSON"))
        #expect(stage.count("nacks") == 1)
    }

    @Test func `a delayed ack is written when it is due`() throws {
        var stage = Stage()
        let id = try stage.bind()
        let received = stage.downstream("m1", on: id)
        let message = try #require(received)
        stage.service.acknowledge(message, more: JSONObject(), delayMs: 500, on: id, nowMs: 0)
        #expect(stage.service.connections[id]?.isUnanswered("m1") == true)
        #expect(stage.service.dueMs(nowMs: 0) == 500)
        stage.service.writeDueAnswers(on: id, nowMs: 499)
        #expect(stage.actions() == [])
        stage.service.writeDueAnswers(on: id, nowMs: 500)
        #expect(stage.texts().first?.contains("m1") == true)
        #expect(stage.service.connections[id]?.isUnanswered("m1") == false)
        stage.service.finish(id, nowMs: 500)
        #expect(stage.service.timedConnections.isEmpty)
    }

    @Test func `the server stops reading with a hundred unanswered messages until there is room`() throws {
        var stage = Stage()
        let id = try stage.bind()
        for index in 1...XMPPConnection.window {
            let received = stage.downstream("m\(index)", on: id)
            let message = try #require(received)
            stage.service.acknowledge(message, more: JSONObject(), delayMs: Int64(index), on: id, nowMs: 0)
        }
        #expect(stage.actions() == [.pauseReading])
        #expect(stage.downstream("late", on: id) == nil)
        #expect(stage.service.nextInput(on: id, ids: &stage.ids, nowMs: 0) == nil)
        stage.service.writeDueAnswers(on: id, nowMs: 1)
        guard case .downstream(let late)? = stage.service.nextInput(on: id, ids: &stage.ids, nowMs: 1) else {
            Issue.record("the backlog was not read")
            return
        }
        #expect(late.messageID == "late")
        stage.service.refuse(late, "SERVICE_UNAVAILABLE", on: id, nowMs: 1)
        #expect(stage.service.nextInput(on: id, ids: &stage.ids, nowMs: 1) == nil)
        #expect(stage.actions().last == .resumeReading)
    }

    @Test func `an upstream message is repeated on another connection until it is acknowledged`() throws {
        var stage = Stage()
        let first = try stage.bind()
        #expect(stage.upstream("u1") == true)
        stage.service.distributeUpstream(nowMs: 0)
        #expect(stage.texts().count == 1)
        stage.service.forget(first)
        let second = try stage.bind()
        stage.service.distributeUpstream(nowMs: 0)
        #expect(stage.texts().count == 1)
        #expect(stage.count("upstream_unacked") == 1)
        #expect(stage.message(#"{"to":"wrong","message_id":"u1","message_type":"ack"}"#, on: second) == nil)
        #expect(stage.count("bad_acks") == 1)
        #expect(stage.message(#"{"to":"t","message_id":"u1","message_type":"ack"}"#, on: second) == nil)
        #expect(stage.count("upstream_acked") == 1)
        #expect(stage.count("upstream_unacked") == 0)
        #expect(stage.count("upstream_sent") == 2)
    }

    @Test func `upstream messages are shared out evenly and wait when all windows are full`() throws {
        var stage = Stage()
        let connections = try (0..<2).map { _ in try stage.bind() }
        for index in 0..<(2 * XMPPConnection.window + 1) { #expect(stage.upstream("u\(index)") == true) }
        stage.service.distributeUpstream(nowMs: 0)
        let outputs = stage.service.removeOutput()
        for id in connections { #expect(outputs.count { $0.connection == id } == XMPPConnection.window) }
        #expect(stage.count("upstream_waiting") == 1)
    }

    @Test func `an upstream message expires, and one that is never stored does so without a connection`() throws {
        var stage = Stage()
        #expect(stage.upstream("u1") == true)
        #expect(stage.upstream("u2", isNowOrNever: true) == true)
        #expect(stage.count("upstream_expired") == 1)
        stage.service.distributeUpstream(nowMs: 1_000)
        #expect(stage.count("upstream_expired") == 2)
        let id = try stage.bind()
        #expect(stage.upstream("u3", isNowOrNever: true) == true)
        stage.service.distributeUpstream(nowMs: 0)
        #expect(stage.texts().count == 1)
        // It is not sent again.
        stage.service.forget(id)
        #expect(stage.count("upstream_waiting") == 0)
    }

    @Test func `a draining connection gets a control message, no upstream, and ends after ten seconds`() throws {
        var stage = Stage()
        let id = try stage.bind()
        #expect(stage.service.drainAll(project: Trial.other.id, nowMs: 0) == 0)
        #expect(stage.service.drainAll(project: nil, nowMs: 0) == 1)
        #expect(stage.service.drainAll(project: nil, nowMs: 0) == 0)
        #expect(stage.texts().first?.contains("CONNECTION_DRAINING") == true)
        #expect(stage.service.connections[id]?.isDraining == true)
        #expect(stage.upstream("u1", lifetimeMs: 60_000) == true)
        stage.service.distributeUpstream(nowMs: 0)
        #expect(stage.actions() == [])
        stage.service.finish(id, nowMs: 9_999)
        #expect(stage.actions() == [])
        stage.service.finish(id, nowMs: 10_000)
        #expect(stage.actions().last == .close)
        #expect(stage.count("open") == 0)
    }

    @Test func `a receipt is queued once, for the message that wants one`() {
        var upstream = UpstreamQueue()
        let receipt = AwaitedReceipt(project: "p", original: "m1", expiresMs: 100)
        upstream.awaitReceipt(receipt, messageID: "0:1", nowMs: 0)
        func delivery(_ id: String) -> Delivery {
            let message = AcceptedMessage(token: "t", messageID: id, senderID: "1", source: .none, acceptedMs: 5)
            return Delivery(accepted: message, platform: .android, timeMs: 5)
        }
        upstream.addReceipt(for: delivery("0:2"), form: .object)
        #expect(upstream.awaitsReceipts)
        for _ in 0..<2 { upstream.addReceipt(for: delivery("0:1"), form: .object) }
        #expect(!upstream.awaitsReceipts)
        #expect(upstream.receiptCount == 1)
        let receipts = upstream.removeFirst(10, project: "p")
        #expect(receipts.map(\.messageID) == ["dr2:m1"])
        #expect(receipts.first?.isFor("t") == true)
    }
}
