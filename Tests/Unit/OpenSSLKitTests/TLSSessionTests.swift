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
            let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 30)
            let identity = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 10)
            try self.init(identity, authority: try authority.certificatePEM(), host: host, protocols: protocols)
        }

        /// - Parameter authority: the only certificate that the client trusts.
        init(
            _ identity: ServerIdentity,
            authority: String,
            host: String = "localhost",
            protocols: [String] = []
        ) throws {
            folder = try TemporaryFolder()
            let file = try folder.write("ca.pem", authority)
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

    /// A certificate as public authorities issue them: a client trusts the root, and knows nothing between.
    @Test func certificatesAfterTheFirstAreSent() throws {
        let folder = try TemporaryFolder()
        func request(_ name: String) throws {
            try Certificates.openssl([
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=\(name)", "-keyout", folder.file("\(name).key"), "-out", folder.file("\(name).csr"),
            ])
        }
        func sign(_ name: String, by issuer: String?, _ extensions: String) throws -> String {
            try request(name)
            let file = try folder.write("\(name).ext", extensions)
            let key = ["-signkey", folder.file("\(name).key")]
            let authority = issuer.map { name in
                ["-CA", folder.file("\(name).pem"), "-CAkey", folder.file("\(name).key"), "-CAcreateserial"]
            }
            let arguments = ["x509", "-req", "-in", folder.file("\(name).csr"), "-days", "2", "-extfile", file]
            let pem = String(decoding: try Certificates.openssl(arguments + (authority ?? key)), as: UTF8.self)
            _ = try folder.write("\(name).pem", pem)
            return pem
        }
        let isAuthority = "basicConstraints=critical,CA:TRUE\n"
        let root = try sign("root", by: nil, isAuthority)
        let between = try sign("between", by: "root", isAuthority)
        let leaf = try sign("leaf", by: "between", "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n")
        let key = String(decoding: try runProgram("/bin/cat", [folder.file("leaf.key")]), as: UTF8.self)
        let whole = ServerIdentity(certificatePEM: leaf + between, keyPEM: key)
        try Pair(whole, authority: root).shakeHands()
        let alone = try Pair(ServerIdentity(certificatePEM: leaf, keyPEM: key), authority: root)
        #expect(throws: OpenSSLError.self) { try alone.shakeHands() }
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
