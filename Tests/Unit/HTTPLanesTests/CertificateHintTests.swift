import Testing

@testable import HTTPLanes

@Suite struct CertificateHintTests {
    @Test(arguments: [
        ("", true), ("certificate verify failed: unable to get local issuer certificate", true),
        ("SSL certificate problem: self-signed certificate in certificate chain", true),
        ("certificate verify failed: certificate has expired", false),
        ("certificate verify failed: hostname mismatch", false),
        ("SSL: no alternative certificate subject name matches target host name 'localhost'", false),
    ])
    func onlyAnUnknownAuthorityHasTheRemedy(row: (text: String, hasRemedy: Bool)) {
        #expect(CertificateHint.text(for: row.text).contains("tls.ca_file") == row.hasRemedy)
    }
}
