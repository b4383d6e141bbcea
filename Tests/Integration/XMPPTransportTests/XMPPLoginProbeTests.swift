import FCMWire
import TestSupport
import Testing
import XMPPTransport

/// A login without a message, which `fanfare doctor` makes.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct XMPPLoginProbeTests {
    private func configuration(port: Int) throws -> XMPPConfiguration {
        XMPPConfiguration(
            host: "localhost",
            port: port,
            caFile: try XMPPPeer.certificates.get().caFile,
            senderID: "123456",
            serverKey: "AAAA:secret"
        )
    }

    @Test func acceptedCredentialIsReportedAndNothingIsSent() throws {
        let peer = try XMPPPeer()
        #expect(try XMPPLoginProbe.run(try configuration(port: peer.port)) == .accepted)
        let ledger = try peer.ledger()
        #expect(ledger.users == ["123456@gcm.googleapis.com"] && ledger.messages.isEmpty && ledger.connections == 1)
    }

    @Test func refusedCredentialIsReportedWithItsReason() throws {
        let peer = try XMPPPeer(#"[{"auth":"not-authorized"}]"#)
        #expect(try XMPPLoginProbe.run(try configuration(port: peer.port)) == .refused("not-authorized"))
    }

    @Test func peerThatOffersNoLoginIsAFailure() throws {
        let peer = try XMPPPeer(#"[{"mechanisms":["X-OAUTH2"]}]"#)
        let reason = "an XMPP connection ended: the peer does not offer PLAIN"
        #expect(try XMPPLoginProbe.run(try configuration(port: peer.port)) == .failed(reason))
        let silent = try XMPPPeer(#"[{"auth":"hang"}]"#)
        let outcome = try XMPPLoginProbe.run(try configuration(port: silent.port), timeoutMs: 300)
        #expect(outcome == .failed("no login within 300 ms"))
    }
}
