import Testing

@testable import FanfareCore

@Suite struct KeyGateTests {
    private func fault(_ gate: inout KeyGate, _ shown: ShownKey?, from address: String?, at seconds: Int64 = 1_000_000)
        -> KeyFault?
    {
        do throws(KeyFault) { _ = try gate.admit(shown, from: address, now: KeyTrial.time(seconds: seconds)) } catch {
            return error
        }
        return nil
    }

    @Test func keyIsAdmittedUpToItsRate() throws {
        var gate = KeyGate(KeyTable([KeyTrial.key(1, rate: 1), KeyTrial.key(2)]))
        #expect(try gate.admit(KeyTrial.shown(1), from: "a", now: KeyTrial.time()).name == "key-1")
        #expect(fault(&gate, KeyTrial.shown(1), from: "b") == .rate(retrySeconds: 30))
        for _ in 0..<1_000 { #expect(fault(&gate, KeyTrial.shown(2), from: "a") == nil) }
    }

    @Test func tenWrongKeysRefuseTheAddressForRightKeysToo() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1)]))
        for number in 100..<110 { #expect(fault(&gate, KeyTrial.shown(number), from: "a") == .wrong) }
        #expect(fault(&gate, KeyTrial.shown(1), from: "a") == .address(retrySeconds: 30))
        #expect(fault(&gate, nil, from: "a") == .address(retrySeconds: 30))
        #expect(fault(&gate, KeyTrial.shown(1), from: "b") == nil)
    }

    @Test func requestsWithoutAKeyOrAnAddressAreNotCounted() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1)]))
        for number in 100..<200 {
            #expect(fault(&gate, nil, from: "a") == .missing)
            #expect(fault(&gate, KeyTrial.shown(number), from: nil) == .wrong)
        }
        #expect(fault(&gate, KeyTrial.shown(1), from: "a") == nil)
        #expect(fault(&gate, KeyTrial.shown(1), from: nil) == nil)
    }

    @Test func replacedKeysKeepWhatTheyUsedUnlessTheirRateChanged() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1, rate: 1), KeyTrial.key(2, rate: 1)]))
        for number in 1...2 { #expect(fault(&gate, KeyTrial.shown(number), from: nil) == nil) }
        gate.replaceKeys(KeyTable([KeyTrial.key(1, rate: 1), KeyTrial.key(2, rate: 2), KeyTrial.key(3)]))
        #expect(fault(&gate, KeyTrial.shown(1), from: nil) == .rate(retrySeconds: 30))
        #expect(fault(&gate, KeyTrial.shown(2), from: nil) == nil)
        #expect(fault(&gate, KeyTrial.shown(3), from: nil) == nil)
        gate.replaceKeys(KeyTable([KeyTrial.key(3)]))
        #expect(fault(&gate, KeyTrial.shown(1), from: nil) == .wrong)
        gate.replaceKeys(KeyTable([KeyTrial.key(1, rate: 1)]))
        #expect(fault(&gate, KeyTrial.shown(1), from: nil) == nil, "removed and added again")
    }

    // MARK: Assertions

    private func account(_ name: String, _ key: UInt8, rate: Int? = nil) throws -> GatewayKey {
        GatewayKey(name: name, proof: .account(try AssertionTrial.publicKey(key)), projects: ["demo"], rate: rate)
    }

    /// A gate that has checked the signature of an assertion of the key `shop`, whose digest is 7.
    private func remembering(_ claims: String = AssertionTrial.claims(), rate: Int? = nil) throws -> KeyGate {
        var gate = KeyGate(KeyTable([KeyTrial.key(1), try account("shop", 1, rate: rate)]))
        let assertion = try AssertionTrial.assertion(claims)
        let key = try #require(gate.publicKey(of: assertion))
        #expect(try key == AssertionTrial.publicKey(1))
        gate.remember(assertion, signedBy: key, at: KeyTrial.digest(7))
        return gate
    }

    @Test func assertionIsAdmittedAsItsKeyUntilItsHourIsOver() throws {
        var gate = try remembering()
        #expect(gate.knows(KeyTrial.digest(7)) && gate.knows(KeyTrial.digest(1)) && !gate.knows(KeyTrial.digest(8)))
        for seconds in [Int64(999_700), 1_000_000, 1_003_900] {
            let now = KeyTrial.time(seconds: seconds)
            #expect(try gate.admit(KeyTrial.shown(7), from: "a", now: now).name == "shop")
        }
        #expect(fault(&gate, KeyTrial.shown(7), from: "a", at: 1_003_901) == .expired)
        #expect(fault(&gate, KeyTrial.shown(7), from: "a", at: 999_699) == .wrong)
        #expect(fault(&gate, KeyTrial.shown(8), from: "a") == .wrong)
    }

    @Test func expiredTokensDoNotRefuseTheAddress() throws {
        var gate = try remembering()
        for _ in 0..<100 { #expect(fault(&gate, KeyTrial.shown(7), from: "a", at: 1_003_901) == .expired) }
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == nil)
    }

    @Test func rateOfTheKeyCountsRequestsWithItsTokens() throws {
        var gate = try remembering(rate: 1)
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == nil)
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == .rate(retrySeconds: 30))
    }

    @Test func onlyAnAccountOfTheGatewayHasAPublicKey() throws {
        let gate = try remembering()
        for issuer in [
            "crm@fanfare-gateway.internal", "key-1@fanfare-gateway.internal", "shop", "shop@gserviceaccount.com",
        ] {
            let claims = #"{"iss":"\#(issuer)","iat":1,"exp":2,"scope":"s"}"#
            #expect(gate.publicKey(of: try AssertionTrial.assertion(claims)) == nil, "\(issuer)")
        }
    }

    @Test func tokensOfARemovedOrRenewedAccountAreRefused() throws {
        var gate = try remembering()
        gate.replaceKeys(KeyTable([try account("shop", 1), KeyTrial.key(2)]))
        #expect(fault(&gate, KeyTrial.shown(7), from: nil) == nil, "the same key")
        gate.replaceKeys(KeyTable([try account("shop", 2)]))
        #expect(fault(&gate, KeyTrial.shown(7), from: nil) == .wrong)
        gate.replaceKeys(KeyTable([try account("shop", 1)]))
        #expect(fault(&gate, KeyTrial.shown(7), from: nil) == .wrong, "its signature is checked again")
        gate.remember(
            try AssertionTrial.assertion(AssertionTrial.claims()),
            signedBy: try AssertionTrial.publicKey(2),
            at: KeyTrial.digest(7)
        )
        #expect(!gate.knows(KeyTrial.digest(7)), "the key was replaced while the signature was checked")
    }

    @Test func assertionsOfOneWrongAccountAreOneWrongKey() throws {
        var gate = try remembering()
        let counted = KeyTrial.digest(500)
        for number in 100..<200 {
            #expect(fault(&gate, ShownKey(KeyTrial.digest(number), counted: counted), from: "a") == .wrong)
        }
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == nil)
        for number in 501..<510 {
            let shown = ShownKey(KeyTrial.digest(number), counted: KeyTrial.digest(number))
            let refusal = grantFault(&gate, isSigned: false, shown)
            #expect(refusal == .assertion(.key))
        }
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == .address(retrySeconds: 30))
        #expect(throws: TokenGrant.Fault.manyWrongKeys(retrySeconds: 30)) {
            try gate.checkGrants(from: "a", now: KeyTrial.time())
        }
        #expect(throws: Never.self) { try gate.checkGrants(from: "b", now: KeyTrial.time()) }
    }

    private func grantFault(_ gate: inout KeyGate, isSigned: Bool, _ shown: ShownKey, at seconds: Int64 = 1_000_000)
        -> TokenGrant.Fault?
    {
        guard let assertion = try? AssertionTrial.assertion(AssertionTrial.claims()) else { return nil }
        let now = KeyTrial.time(seconds: seconds)
        do throws(TokenGrant.Fault) {
            try gate.grant(assertion, isSigned: isSigned, shown: shown, from: "a", now: now)
        } catch {
            return error
        }
        return nil
    }

    @Test func rightKeyWithAWrongClockIsNotAWrongKey() throws {
        var gate = try remembering()
        #expect(grantFault(&gate, isSigned: true, KeyTrial.shown(7)) == nil)
        for number in 0..<20 {
            let refusal = grantFault(&gate, isSigned: true, KeyTrial.shown(number), at: 1_000_301)
            #expect(refusal == .assertion(.time("iat is 301 s in the past, at most 300")))
        }
        #expect(fault(&gate, KeyTrial.shown(7), from: "a") == nil)
    }
}
