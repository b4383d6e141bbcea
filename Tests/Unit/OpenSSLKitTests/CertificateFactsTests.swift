import Foundation
import OpenSSLKit
import Testing

@Suite struct CertificateFactsTests {
    @Test func factsAreTheCertificatesOwn() throws {
        let authority = try CertificateAuthority(commonName: "A", organization: "A", days: 30)
        let names = ["localhost", "*.example.com"]
        let issued = try authority.issue(commonName: "S", names: names, addresses: ["127.0.0.1"], days: 10)
        let facts = try CertificateFacts(pem: issued.certificatePEM)
        #expect(facts.names == names + ["127.0.0.1"])
        let now = Int64(Date().timeIntervalSince1970)
        #expect(abs(facts.notAfter - now - 10 * 86_400) < 60)
        // Valid for the past hour: clocks differ.
        #expect(abs(facts.notBefore - now + 3_600) < 60)
    }

    @Test func certificateWithoutNamesHasNone() throws {
        let authority = try CertificateAuthority(commonName: "A", organization: "A", days: 30)
        #expect(try CertificateFacts(pem: authority.certificatePEM()).names == [])
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func anythingElseIsRefused(text: String) {
        #expect(throws: OpenSSLError.self) { try CertificateFacts(pem: text) }
    }
}
