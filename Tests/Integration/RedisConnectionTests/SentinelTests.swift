import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A real Sentinel and a real primary, both over TLS, and the Sentinel with a user that may only query.
@Suite struct SentinelTests {
    private struct Place {
        let certificates: Certificates
        let primary: RedisServer
        let sentinel: SentinelServer
        let tlsPort: UInt16

        init() throws {
            certificates = try Certificates()
            let identity = try certificates.issue("server", names: ["IP:127.0.0.1"])
            primary = try RedisServer(
                port: .tls(identity, caFile: certificates.caFile, requireClientCertificate: false)
            )
            tlsPort = try RedisServer.freePort()
            sentinel = try SentinelServer(
                watching: primary.port,
                quorum: 1,
                config: [
                    "tls-port \(tlsPort)", "tls-replication yes", "tls-cert-file \(identity.certFile)",
                    "tls-key-file \(identity.keyFile)", "tls-ca-cert-file \(certificates.caFile)",
                    "tls-auth-clients no",
                    "user asker on >asking resetchannels -@all +ping +client|setname +sentinel|master",
                ]
            )
        }

        func deployment(master: String = "main", password: String = "asking") throws -> RedisDeployment {
            try RedisDeployment(url: "rediss-sentinel://127.0.0.1:\(tlsPort)/2?master=\(master)")
                .askingSentinels(user: "asker", password: password, usesTLS: nil)
        }

        func stop() {
            sentinel.stop()
            primary.stop()
        }
    }

    @Test func primaryIsFoundOverTLSByAUserThatMayOnlyQuery() async throws {
        let place = try Place()
        defer { place.stop() }
        let tls = TLSOptions(caFile: place.certificates.caFile)
        let client = try await RedisClient.connect(try place.deployment(), tls: tls, patienceMs: 10_000)
        defer { client.close() }
        #expect(try await client.send(RedisCommand("SET", "key", "value")) == .status("OK"))
        #expect(try place.primary.cli("-n", "2", "GET", "key") == "value")
        let primaries = try await client.primaries()
        #expect(primaries.map(\.address) == [.tcp(host: "127.0.0.1", port: place.primary.port)])
    }

    @Test func refusalOfASentinelIsReported() async throws {
        let place = try Place()
        defer { place.stop() }
        let tls = TLSOptions(caFile: place.certificates.caFile)
        for (deployment, reason) in [
            (try place.deployment(password: "wrong"), "WRONGPASS"),
            (try place.deployment(master: "nobody"), "No such master"),
        ] {
            let error = await #expect(throws: RedisError.self) {
                _ = try await RedisClient.connect(deployment, tls: tls)
            }
            #expect(error?.message.contains("Sentinel at 127.0.0.1:\(place.tlsPort)") == true)
            #expect(error?.message.contains(reason) == true)
        }
    }
}
