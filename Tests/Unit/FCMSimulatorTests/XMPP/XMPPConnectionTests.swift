import FanfareXML
import Testing

@testable import FCMSimulator

/// One connection's handshake alone: each stage against each event.
@Suite struct XMPPConnectionTests {
    enum Event: CaseIterable { case stream, credential, bind }

    private static let projects = [Trial.project]

    private static func perform(
        _ event: Event,
        on connection: inout XMPPConnection,
        _ ids: inout IdentifierSource
    ) -> XMPPConnection.Step {
        switch event {
        case .stream:
            let attributes = ["to": XMPPNames.domains[1], "version": "1.0"]
            return connection.openStream(XMLName("stream", in: XMPPNames.stream), attributes, ids: &ids)
        case .credential:
            let text = XMPPTrial.plain(Trial.project.senderID + "@fcm.googleapis.com", Trial.project.serverKey)
            let auth = XMLElement(
                XMLName("auth", in: XMPPNames.sasl),
                attributes: ["mechanism": "PLAIN"],
                children: [.text(text)]
            )
            return connection.negotiate(auth, projects: projects, ids: &ids)
        case .bind:
            let bind = XMLElement(
                XMLName("iq", in: XMPPNames.client),
                attributes: ["type": "set"],
                children: [.element(XMLElement(XMLName("bind", in: XMPPNames.bind)))]
            )
            return connection.negotiate(bind, projects: projects, ids: &ids)
        }
    }

    /// A connection brought to a stage by the shortest way.
    private static func connection(_ stage: XMPPConnection.Stage, _ ids: inout IdentifierSource) -> XMPPConnection {
        var connection = XMPPConnection(id: 1)
        let way: [XMPPConnection.Stage] = [.opening, .authenticating, .reopening, .binding, .bound]
        for step in way.prefix(while: { $0 != stage }) {
            switch step {
            case .opening, .reopening: _ = perform(.stream, on: &connection, &ids)
            case .authenticating: connection.authenticate(Trial.project)
            case .binding: _ = perform(.bind, on: &connection, &ids)
            case .bound: break
            }
        }
        return connection
    }

    @Test(arguments: [
        (XMPPConnection.Stage.opening, Event.stream, "write", XMPPConnection.Stage.authenticating),
        (.opening, .credential, "not-authorized", .opening), (.opening, .bind, "not-authorized", .opening),
        (.authenticating, .stream, "bad-format", .authenticating),
        (.authenticating, .credential, "admit", .authenticating),
        (.authenticating, .bind, "not-authorized", .authenticating), (.reopening, .stream, "write", .binding),
        (.reopening, .credential, "not-authorized", .reopening), (.reopening, .bind, "not-authorized", .reopening),
        (.binding, .stream, "bad-format", .binding), (.binding, .credential, "not-authorized", .binding),
        (.binding, .bind, "write", .bound), (.bound, .stream, "bad-format", .bound),
        (.bound, .credential, "not-authorized", .bound), (.bound, .bind, "not-authorized", .bound),
    ])
    func `each stage accepts its own event and fails with any other`(
        stage: XMPPConnection.Stage,
        event: Event,
        step: String,
        next: XMPPConnection.Stage
    ) {
        var ids = IdentifierSource(seed: 1)
        var connection = Self.connection(stage, &ids)
        #expect(connection.stage == stage)
        switch Self.perform(event, on: &connection, &ids) {
        case .write: #expect(step == "write")
        case .admit(let project):
            #expect(step == "admit")
            #expect(project == Trial.project)
        case .refuse(let condition), .fail(let condition, _): #expect(step == condition)
        }
        #expect(connection.stage == next)
    }

    @Test func `the server stops reading at the hundredth answer and resumes after the backlog`() {
        var connection = XMPPConnection(id: 1)
        for index in 1...XMPPConnection.window {
            let answer = XMPPConnection.Answer(messageID: "m\(index)", stanza: [], dueMs: Int64(index))
            #expect(connection.append(answer) == (index < XMPPConnection.window))
        }
        connection.backlog.append(XMLElement(XMLName("presence", in: XMPPNames.client)))
        #expect(connection.nextOfBacklog() == nil)
        #expect(connection.resumeReading() == false)
        #expect(connection.removeAnswers(dueAt: 1).map(\.messageID) == ["m1"])
        #expect(connection.resumeReading() == false)
        #expect(connection.nextOfBacklog() != nil)
        #expect(connection.resumeReading() == true)
        #expect(connection.isReading)
    }
}
