import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AccessAssertionTests {
    private func fault(_ text: String) -> AssertionFault? {
        do throws(AssertionFault) { _ = try AccessAssertion(text) } catch { return error }
        return nil
    }

    @Test func assertionOfGooglesLibraryIsRead() throws {
        let text = AssertionTrial.text(AssertionTrial.claims())
        let assertion = try AccessAssertion(text)
        #expect(assertion.issuer == "shop@fanfare-gateway.internal" && assertion.keyID == nil)
        #expect(assertion.issued == 1_000_000 && assertion.expires == 1_003_600)
        #expect(assertion.audiences == ["https://oauth2.googleapis.com/token"] && assertion.hasScope)
        #expect(assertion.signature == Array("signature".utf8))
        #expect(AccessAssertion.hasParts(text) && !AccessAssertion.hasParts("ffk_a-b"))
        let parts = text.split(separator: ".")
        #expect(assertion.signingInput == Array("\(parts[0]).\(parts[1])".utf8))
    }

    /// The algorithm is never the header's choice.
    @Test(arguments: ["none", "None", "HS256", "RS384", "PS256", "ES256", "rs256", ""])
    func otherAlgorithmIsRefused(name: String) {
        let text = AssertionTrial.text(AssertionTrial.claims(), header: #"{"alg":"\#(name)"}"#)
        #expect(fault(text) == .form("its algorithm is not RS256"))
    }

    @Test(arguments: [
        (#"{"typ":"JWT"}"#, "its algorithm is not RS256"), (#"{"alg":null}"#, "its algorithm is not RS256"),
        (#"{"alg":["RS256"]}"#, "its algorithm is not RS256"),
        (#"{"alg":"RS256","crit":["b64"],"b64":false}"#, "it has critical headers"),
        (#"{"alg":"RS256","alg":"none"}"#, "its header gives a member twice"),
        (#"{"alg":"none","alg":"RS256"}"#, "its header gives a member twice"),
        ("[]", "its header is not a JSON object in base64url"), ("{", "its header is not a JSON object in base64url"),
        (#"{"alg":"RS256","x":[[[[[[[[[]]]]]]]]]}"#, "its header is not a JSON object in base64url"),
    ])
    func badHeaderIsRefused(header: String, rule: String) {
        #expect(fault(AssertionTrial.text(AssertionTrial.claims(), header: header)) == .form(rule))
    }

    @Test(arguments: [
        ("{}", "it has no iss"), (#"{"iss":""}"#, "it has no iss"), (#"{"iss":7}"#, "it has no iss"),
        (#"{"iss":"a"}"#, "it has no iat"), (#"{"iss":"a","iat":1}"#, "it has no exp"),
        (#"{"iss":"a","iat":"1","exp":2}"#, "it has no iat"), (#"{"iss":"a","iat":-1,"exp":2}"#, "its iat is no time"),
        (#"{"iss":"a","iat":1e300,"exp":2}"#, "its iat is no time"),
        (#"{"iss":"a","iat":1,"exp":99999999999999999999}"#, "its exp is no time"),
        (#"{"iss":"a","iat":1,"exp":2,"nbf":"x"}"#, "it has no nbf"),
        (#"{"iss":"a","iat":1,"exp":2,"aud":7}"#, "its aud is not text"),
        (#"{"iss":"a","iat":1,"exp":2,"aud":[]}"#, "its aud is not text"),
        (#"{"iss":"a","iat":1,"exp":2,"aud":["b",7]}"#, "its aud is not text"),
        (#"{"iss":"a","iss":"b"}"#, "its claims gives a member twice"),
    ])
    func badClaimsAreRefused(claims: String, rule: String) {
        #expect(fault(AssertionTrial.text(claims)) == .form(rule))
    }

    @Test(arguments: [
        ("", "not three parts with dots between them"), ("a.b", "not three parts with dots between them"),
        ("a.b.c.d", "not three parts with dots between them"),
        ("é.b.c", "its header is not a JSON object in base64url"),
        (String(repeating: "a", count: 8_193), "longer than 8192 bytes"),
    ])
    func otherTextIsRefused(text: String, rule: String) { #expect(fault(text) == .form(rule)) }

    @Test(arguments: ["", "?", "a", "c2ln+w", "c2ln="])
    func signatureThatIsNotBase64URLIsRefused(signature: String) {
        let text = AssertionTrial.text(AssertionTrial.claims())
        let start = text[...(text.lastIndex(of: ".") ?? text.startIndex)]
        #expect(fault(start + signature) == .form("its signature is not base64url"))
    }

    /// Seconds before or after the assertion, and the fault.
    @Test(arguments: [
        (1_000_000, 1_003_600, 0, nil), (1_000_000, 1_003_600, 300, nil), (1_000_000, 1_003_600, -300, nil),
        (1_000_000, 1_003_600, 301, "iat is 301 s in the past, at most 300"),
        (1_000_000, 1_003_600, -301, "iat is 301 s in the future, at most 300"),
        (1_000_000, 1_000_060, 59, nil), (1_000_000, 1_000_060, 60, "exp is in the past"),
        (1_000_000, 1_003_900, 0, nil), (1_000_000, 1_003_901, 0, "exp is more than an hour after iat"),
        (1_000_000, 999_999, 0, "exp is in the past"),
    ])
    func grantDependsOnTheTimes(issued: Int64, expires: Int64, after: Int64, rule: String?) throws {
        let assertion = try AssertionTrial.assertion(AssertionTrial.claims(issued: issued, expires: expires))
        var found: AssertionFault?
        do throws(AssertionFault) { try assertion.checkGrant(now: issued + after) } catch { found = error }
        #expect(found == rule.map { .time($0) })
    }

    @Test(arguments: [
        ("https://oauth2.googleapis.com/token", true), ("https://www.googleapis.com/oauth2/v4/token", true),
        ("https://accounts.google.com/o/oauth2/token", true), ("https://gw.example.com:8443/token", true),
        ("http://127.0.0.1:8470/token", true), ("https://[::1]/token", true), ("https:///token", false),
        ("https://gw.example.com/token/", false), ("https://gw.example.com/x/token", false),
        ("https://gw.example.com/token?x", false), ("https://fcm.googleapis.com/", false), ("/token", false),
        ("ftp://a/token", false), ("", false),
    ])
    func grantDependsOnTheAudience(audience: String, isAccepted: Bool) throws {
        for claim in [#""\#(audience)""#, #"["https://other.example","\#(audience)"]"#] {
            let assertion = try AssertionTrial.assertion(AssertionTrial.claims(audience: claim))
            var found: AssertionFault?
            do throws(AssertionFault) { try assertion.checkGrant(now: 1_000_000) } catch { found = error }
            #expect(found == (isAccepted ? nil : .audience), "\(claim)")
        }
    }

    @Test func grantedTokenLastsAnHourFromTheLatestGrantWhateverItsExpiry() throws {
        for expires in [Int64(1_000_060), 1_003_600, 1_003_900] {
            let assertion = try AssertionTrial.assertion(AssertionTrial.claims(expires: expires))
            #expect(assertion.lifetime == 999_700...1_003_900)
        }
    }

    /// Libraries sign such tokens for the API itself, and ask no endpoint for one.
    @Test(
        arguments: [
            (#""https://fcm.googleapis.com/""#, 1_000_060, 1_000_360),
            (#""https://fcm.googleapis.com/""#, 1_003_600, 1_003_900),
            ("", 1_003_600, 1_003_900),
        ] as [(String, Int64, Int64)]
    )
    func selfSignedTokenEndsWithItsExpiry(audience: String, expires: Int64, end: Int64) throws {
        let assertion = try AssertionTrial.assertion(AssertionTrial.claims(expires: expires, audience: audience))
        #expect(assertion.lifetime == 999_700...end)
    }

    /// Claims of a stranger, of any size and kind.
    @Test func changedAssertionsAreJudgedWithoutATrap() {
        var random = SeededGenerator(seed: 36)
        let seeds = [
            AssertionTrial.claims(), AssertionTrial.claims(audience: #"["https://a/token",{"b":1e9}]"#),
            #"{"iss":"a","iat":9223372036854775807,"exp":-9223372036854775808,"nbf":1e-7,"scope":"s"}"#,
        ]
        var accepted = 0
        for round in 0..<20_000 {
            var claims = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: claims.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: claims[place] = UInt8.random(in: 0x20...0x7E, using: &random)
                case 1: claims.insert(UInt8(ascii: "9"), at: place)
                default: claims.remove(at: place)
                }
            }
            let parts = [Array(#"{"alg":"RS256"}"#.utf8), claims, [1]].map {
                String(decoding: Base64.encodeURL($0), as: UTF8.self)
            }
            guard let assertion = try? AccessAssertion(parts.joined(separator: ".")) else { continue }
            accepted += 1
            let isGranted = (try? assertion.checkGrant(now: 1_000_000)) != nil
            if isGranted { #expect(assertion.lifetime?.contains(1_003_600) == true, "\(assertion)") }
            if let lifetime = assertion.lifetime { #expect(lifetime.count <= 4_201, "\(assertion)") }
        }
        #expect(accepted > 1_000)
    }

    @Test func tokenForNoServiceOrForLongIsNeverAccepted() throws {
        let plain = try AssertionTrial.assertion(#"{"iss":"a","iat":1000000,"exp":1003600}"#)
        #expect(plain.lifetime == nil, "neither audience nor scope")
        for claims in [
            AssertionTrial.claims(audience: #""me""#), AssertionTrial.claims(expires: 1_003_901),
            AssertionTrial.claims(expires: 253_402_300_799, audience: #""https://fcm.googleapis.com/""#),
        ] { #expect(try AssertionTrial.assertion(claims).lifetime == nil, "\(claims)") }
        let later = #"{"iss":"a","iat":1000000,"exp":1003600,"nbf":253402300799,"aud":"https://a/token"}"#
        #expect(try AssertionTrial.assertion(later).lifetime == nil)
    }
}

/// Assertions of tests; their signature is a word.
enum AssertionTrial {
    /// - Parameter audience: as JSON; empty for none.
    static func claims(
        of name: String = "shop",
        issued: Int64 = 1_000_000,
        expires: Int64 = 1_003_600,
        audience: String = #""https://oauth2.googleapis.com/token""#
    ) -> String {
        let aud = audience.isEmpty ? "" : #""aud":\#(audience),"#
        return #"{"iss":"\#(name)@fanfare-gateway.internal",\#(aud)"iat":\#(issued),"exp":\#(expires),"scope":"s"}"#
    }

    static func text(_ claims: String, header: String = #"{"alg":"RS256","typ":"JWT"}"#) -> String {
        [header, claims, "signature"].map { String(decoding: Base64.encodeURL(Array($0.utf8)), as: UTF8.self) }
            .joined(separator: ".")
    }

    static func assertion(_ claims: String) throws -> AccessAssertion { try AccessAssertion(text(claims)) }

    /// A public key of 2,048 bits without a private half; each number is another one.
    static func publicKey(_ number: UInt8) throws -> PublicKeyText {
        let start: [UInt8] = [
            0x30, 0x82, 0x01, 0x22, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05,
            0x00, 0x03, 0x82, 0x01, 0x0F, 0x00, 0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0x01, 0x01, 0x00,
        ]
        let bytes = start + [UInt8](repeating: 0x80 | number, count: 256) + [0x02, 0x03, 0x01, 0x00, 0x01]
        return try #require(PublicKeyText(pem: pem(bytes)))
    }

    static func pem(_ bytes: [UInt8], label: String = "PUBLIC KEY") -> String {
        let text = String(decoding: Base64.encode(bytes), as: UTF8.self)
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }
}
