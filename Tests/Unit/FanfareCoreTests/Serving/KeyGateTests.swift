import Testing

@testable import FanfareCore

@Suite struct KeyGateTests {
    private func fault(_ gate: inout KeyGate, _ digest: KeyDigest?, from address: String?, now: UInt64 = 0) -> KeyFault?
    {
        do throws(KeyFault) { _ = try gate.admit(digest, from: address, now: now) } catch { return error }
        return nil
    }

    @Test func keyIsAdmittedUpToItsRate() throws {
        var gate = KeyGate(KeyTable([KeyTrial.key(1, rate: 60), KeyTrial.key(2)]))
        #expect(try gate.admit(KeyTrial.digest(1), from: "a", now: 0).name == "key-1")
        #expect(fault(&gate, KeyTrial.digest(1), from: "b") == .rate(retrySeconds: 1))
        for _ in 0..<1_000 { #expect(fault(&gate, KeyTrial.digest(2), from: "a") == nil) }
    }

    @Test func tenWrongKeysRefuseTheAddressForRightKeysToo() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1)]))
        for number in 100..<110 { #expect(fault(&gate, KeyTrial.digest(number), from: "a") == .wrong) }
        #expect(fault(&gate, KeyTrial.digest(1), from: "a") == .address(retrySeconds: 30))
        #expect(fault(&gate, nil, from: "a") == .address(retrySeconds: 30))
        #expect(fault(&gate, KeyTrial.digest(1), from: "b") == nil)
    }

    @Test func requestsWithoutAKeyOrAnAddressAreNotCounted() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1)]))
        for number in 100..<200 {
            #expect(fault(&gate, nil, from: "a") == .missing)
            #expect(fault(&gate, KeyTrial.digest(number), from: nil) == .wrong)
        }
        #expect(fault(&gate, KeyTrial.digest(1), from: "a") == nil)
        #expect(fault(&gate, KeyTrial.digest(1), from: nil) == nil)
    }

    @Test func replacedKeysKeepWhatTheyUsedUnlessTheirRateChanged() {
        var gate = KeyGate(KeyTable([KeyTrial.key(1, rate: 60), KeyTrial.key(2, rate: 60)]))
        for number in 1...2 { #expect(fault(&gate, KeyTrial.digest(number), from: nil) == nil) }
        gate.replaceKeys(KeyTable([KeyTrial.key(1, rate: 60), KeyTrial.key(2, rate: 61), KeyTrial.key(3)]))
        #expect(fault(&gate, KeyTrial.digest(1), from: nil) == .rate(retrySeconds: 1))
        #expect(fault(&gate, KeyTrial.digest(2), from: nil) == nil)
        #expect(fault(&gate, KeyTrial.digest(3), from: nil) == nil)
        gate.replaceKeys(KeyTable([KeyTrial.key(3)]))
        #expect(fault(&gate, KeyTrial.digest(1), from: nil) == .wrong)
        gate.replaceKeys(KeyTable([KeyTrial.key(1, rate: 60)]))
        #expect(fault(&gate, KeyTrial.digest(1), from: nil) == nil, "removed and added again")
    }
}
