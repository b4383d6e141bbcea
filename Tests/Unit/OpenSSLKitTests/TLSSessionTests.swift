import OpenSSLKit
import TestSupport
import Testing

@Suite struct TLSSessionTests {
    /// A client and a server that exchange bytes without a socket.
    private struct Pair {
        let folder: TemporaryFolder
        let client: TLSSession
        let server: TLSSession

        init(host: String = "localhost", protocols: [String] = []) throws {
            folder = try TemporaryFolder()
            let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 30)
            let identity = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 10)
            let file = try folder.write("ca.pem", try authority.certificatePEM())
            client = try TLSSession(context: TLSContext(files: TLSFiles(caFile: file)), host: host)
            server = try TLSSession(context: TLSServerContext(identity: identity, protocols: protocols))
        }

        /// Until both sides are ready.
        func shakeHands() throws {
            for _ in 0..<10 {
                let clientIsReady = try client.handshake()
                try move(from: client, to: server)
                let serverIsReady = try server.handshake()
                try move(from: server, to: client)
                if clientIsReady, serverIsReady { return }
            }
            Issue.record("the handshake does not end")
        }

        func move(from one: TLSSession, to other: TLSSession) throws {
            try one.removeOutgoing().withUnsafeBytes { try other.feed($0) }
        }
    }

    private func read(_ session: TLSSession) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            guard let count = try buffer.withUnsafeMutableBytes({ try session.read(into: $0) }) else { return nil }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    @Test func bothSidesReadWhatTheOtherWrote() throws {
        let pair = try Pair()
        try pair.shakeHands()
        let sent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try sent.withUnsafeBytes { try pair.client.write($0) }
        try pair.move(from: pair.client, to: pair.server)
        #expect(try read(pair.server) == sent)
        try [1, 2, 3].withUnsafeBytes { try pair.server.write($0) }
        try pair.move(from: pair.server, to: pair.client)
        #expect(try read(pair.client)?.isEmpty == false)
    }

    @Test func shutdownOfTheServerEndsTheClientsRead() throws {
        let pair = try Pair()
        try pair.shakeHands()
        pair.server.shutdown()
        try pair.move(from: pair.server, to: pair.client)
        #expect(try read(pair.client) == nil)
    }

    @Test func serverNegotiatesNothingWithAClientThatOffersNothing() throws {
        let pair = try Pair(protocols: ["h2", "http/1.1"])
        try pair.shakeHands()
        #expect(pair.server.negotiatedProtocol == nil)
    }

    @Test func certificateForAnotherHostIsRefused() throws {
        let pair = try Pair(host: "example.com")
        let error = #expect(throws: OpenSSLError.self) { try pair.shakeHands() }
        #expect(error?.reason.contains("certificate verify failed") == true)
    }

    @Test func bytesThatAreNotTLSEndTheServersHandshake() throws {
        let pair = try Pair()
        try Array("GET / HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { try pair.server.feed($0) }
        #expect(throws: OpenSSLError.self) { try pair.server.handshake() }
    }

    @Test func keyOfAnotherCertificateIsRefused() throws {
        let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 30)
        var identity = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 10)
        identity.keyPEM = try authority.issue(commonName: "Other", names: ["localhost"], addresses: [], days: 10).keyPEM
        #expect(throws: OpenSSLError.self) { try TLSServerContext(identity: identity) }
        identity.keyPEM = "no key"
        #expect(throws: OpenSSLError.self) { try TLSServerContext(identity: identity) }
    }
}
