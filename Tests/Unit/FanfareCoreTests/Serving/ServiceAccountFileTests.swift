import FanfareJSON
import Testing

@testable import FanfareCore

@Suite struct ServiceAccountFileTests {
    @Test func fileHasTheMembersOfGooglesAndLeadsToTheGateway() {
        let file = ServiceAccountFile(
            name: "shop",
            project: "demo",
            privateKeyPEM: "SECRET",
            keyID: "0123",
            origin: "https://push.example.com:8443"
        )
        let json = file.json
        #expect(
            json.members.map(\.key) == [
                "type", "project_id", "private_key_id", "private_key", "client_email", "client_id", "auth_uri",
                "token_uri", "auth_provider_x509_cert_url", "client_x509_cert_url", "universe_domain",
            ]
        )
        #expect(json["type"] == "service_account" && json["project_id"] == "demo" && json["private_key"] == "SECRET")
        #expect(json["client_email"] == "shop@fanfare-gateway.internal")
        #expect(json["token_uri"] == "https://push.example.com:8443/token")
        var dumped = ""
        dump(file, to: &dumped)
        #expect(!dumped.contains("SECRET") && !"\(file)".contains("SECRET"))
    }

    @Test(arguments: [
        ("https://push.example.com", "https://push.example.com"), ("https://a:8443/", "https://a:8443"),
        ("https://10.0.0.1:1", "https://10.0.0.1:1"), ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://localhost:8470", "http://localhost:8470"), ("http://[::1]", "http://[::1]"),
        ("http://push.example.com", nil), ("https://", nil), ("https://a/b", nil), ("https://a?b", nil),
        ("https://u@a", nil), ("https://a:0", nil), ("https://a:65536", nil), ("https://a:", nil), ("https://[a]", nil),
        ("https://[::1]x", nil), ("https://[::1", nil), ("ftp://a", nil), ("a", nil), ("https://a b", nil), ("", nil),
    ])
    func originIsThatOfAURLWithoutAPath(url: String, origin: String?) {
        #expect(ServiceAccountFile.origin(of: url) == origin)
    }
}
