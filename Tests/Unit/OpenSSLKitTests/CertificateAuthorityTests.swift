import OpenSSLKit
import TestSupport
import Testing

@Suite struct CertificateAuthorityTests {
    private struct Issued {
        let folder: TemporaryFolder
        let authority: String
        let server: ServerIdentity
        let authorityFile: String
        let certificateFile: String
        let keyFile: String

        init() throws {
            folder = try TemporaryFolder()
            let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 30)
            self.authority = try authority.certificatePEM()
            server = try authority.issue(
                commonName: "Test server",
                names: ["localhost", "*.example.com"],
                addresses: ["127.0.0.1", "::1"],
                days: 10
            )
            authorityFile = try folder.write("ca.pem", self.authority)
            certificateFile = try folder.write("server.pem", server.certificatePEM)
            keyFile = try folder.write("server.key", server.keyPEM)
        }

        func text(_ file: String) throws -> String {
            String(decoding: try Certificates.openssl(["x509", "-in", file, "-noout", "-text"]), as: UTF8.self)
        }
    }

    @Test(arguments: [
        ["-verify_hostname", "localhost"], ["-verify_hostname", "a.example.com"], ["-verify_ip", "127.0.0.1"],
        ["-verify_ip", "::1"],
    ])
    func certificateIsValidForEachOfItsNames(_ name: [String]) throws {
        let issued = try Issued()
        let arguments = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", issued.authorityFile]
        let output = try Certificates.openssl(arguments + name + [issued.certificateFile])
        #expect(String(decoding: output, as: UTF8.self) == "\(issued.certificateFile): OK\n")
    }

    @Test(arguments: [["-verify_hostname", "example.com"], ["-verify_ip", "127.0.0.2"]])
    func certificateIsNotValidForOtherNames(_ name: [String]) throws {
        let issued = try Issued()
        let arguments = ["verify", "-CAfile", issued.authorityFile] + name + [issued.certificateFile]
        #expect(throws: (any Error).self) { try Certificates.openssl(arguments) }
    }

    /// Names that a constrained authority vouches for, and whether clients believe it.
    @Test(arguments: [
        ("fcm.googleapis.com", true), ("oauth2.googleapis.com", false), ("example.com", false), ("10.0.0.5", true),
        ("10.0.0.6", false), ("::1", false),
    ])
    func constrainedAuthorityVouchesForItsHostsOnly(host: String, isBelieved: Bool) throws {
        let folder = try TemporaryFolder()
        let authority = try CertificateAuthority(
            commonName: "Test authority",
            organization: "Test",
            days: 30,
            hosts: CertificateAuthority.Hosts(names: ["fcm.googleapis.com"], addresses: ["10.0.0.5"])
        )
        let isAddress = host.contains(":") || host.first?.isNumber == true
        let issued = try authority.issue(
            commonName: "Test server",
            names: isAddress ? [] : [host],
            addresses: isAddress ? [host] : [],
            days: 10
        )
        let ca = try folder.write("ca.pem", try authority.certificatePEM())
        let server = try folder.write("server.pem", issued.certificatePEM)
        let arguments = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", ca, server]
        if isBelieved {
            try Certificates.openssl(arguments)
        } else {
            #expect(throws: (any Error).self) { try Certificates.openssl(arguments) }
        }
        // Another certificate of the authority, made with its exported key.
        let key = try folder.write("ca.key", try authority.keyPEM())
        #expect(
            try Certificates.openssl(["pkey", "-in", key, "-pubout"])
                == Certificates.openssl(["x509", "-in", ca, "-noout", "-pubkey"])
        )
    }

    @Test func extensionsLimitTheCertificatesToTheirPurpose() throws {
        let issued = try Issued()
        let authority = try issued.text(issued.authorityFile)
        #expect(authority.contains("X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0\n"))
        #expect(authority.contains("X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign\n"))
        #expect(authority.contains("O = Test, CN = Test authority") || authority.contains("O=Test, CN=Test authority"))
        let server = try issued.text(issued.certificateFile)
        #expect(server.contains("X509v3 Basic Constraints: critical\n                CA:FALSE\n"))
        #expect(server.contains("X509v3 Key Usage: critical\n                Digital Signature\n"))
        #expect(server.contains("X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n"))
    }

    @Test func certificateIsValidFromThePastHourForItsDays() throws {
        let issued = try Issued()
        let day = 86_400
        for (file, days) in [(issued.authorityFile, 30), (issued.certificateFile, 10)] {
            let check = ["x509", "-in", file, "-noout", "-checkend"]
            try Certificates.openssl(check + ["\(days * day - 3_600)"])
            #expect(throws: (any Error).self) { try Certificates.openssl(check + ["\(days * day + 60)"]) }
        }
        // A client whose clock is half an hour slow.
        let slow = String(decoding: try runProgram("/bin/date", ["-d", "-30 minutes", "+%s"]), as: UTF8.self)
        let arguments = ["verify", "-attime", String(slow.prefix { $0.isNumber }), "-CAfile", issued.authorityFile]
        try Certificates.openssl(arguments + [issued.certificateFile])
    }

    @Test func keyBelongsToTheCertificate() throws {
        let issued = try Issued()
        let ofKey = try Certificates.openssl(["pkey", "-in", issued.keyFile, "-pubout"])
        let ofCertificate = try Certificates.openssl(["x509", "-in", issued.certificateFile, "-noout", "-pubkey"])
        #expect(ofKey == ofCertificate)
        #expect(issued.server.keyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test func serialNumbersDiffer() throws {
        let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 1)
        let serials = try (0..<3).map { _ in
            let issued = try authority.issue(commonName: "Test", names: ["localhost"], addresses: [], days: 1)
            return try Certificates.openssl(
                ["x509", "-noout", "-serial"],
                input: Array(issued.certificatePEM.utf8)
            )
        }
        #expect(Set(serials).count == 3)
    }

    @Test(arguments: ["a.example,DNS:b.example", "a b", "file:/etc/passwd", "", "a\0b"])
    func namesThatAreNoHostsAreRefused(_ name: String) throws {
        let authority = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 1)
        #expect(throws: OpenSSLError.self) {
            _ = try authority.issue(commonName: "Test", names: [name], addresses: [], days: 1)
        }
    }

    @Test func subjectsLongerThanX509AllowsAreRefused() {
        #expect(throws: OpenSSLError.self) {
            _ = try CertificateAuthority(commonName: String(repeating: "a", count: 65), organization: "Test", days: 1)
        }
    }

    @Test func identityIsUsableWithItsAuthorityUntilItExpires() throws {
        let issued = try Issued()
        #expect(issued.server.isUsable(authorityPEM: issued.authority, days: 9))
        #expect(!issued.server.isUsable(authorityPEM: issued.authority, days: 11))
        // The same name with another key.
        let other = try CertificateAuthority(commonName: "Test authority", organization: "Test", days: 30)
        #expect(!issued.server.isUsable(authorityPEM: try other.certificatePEM(), days: 1))
        #expect(!issued.server.isUsable(authorityPEM: issued.server.certificatePEM, days: 1))
        #expect(!issued.server.isUsable(authorityPEM: "", days: 1))
        let cut = String(issued.server.certificatePEM.dropLast(100))
        #expect(!ServerIdentity(certificatePEM: cut, keyPEM: "").isUsable(authorityPEM: issued.authority, days: 1))
    }
}
