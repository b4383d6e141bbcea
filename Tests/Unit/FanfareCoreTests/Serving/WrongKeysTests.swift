import Testing

@testable import FanfareCore

@Suite struct WrongKeysTests {
    private static let minute = 60 * KeyTrial.second

    /// The seconds that an address is refused for; nil if it is not.
    private func wait(_ keys: WrongKeys, _ address: String, _ now: UInt64) -> Int? {
        do throws(KeyFault) { try keys.check(address, now: now) } catch {
            guard case .address(let seconds) = error else { return -1 }
            return seconds
        }
        return nil
    }

    @Test func tenDifferentKeysRefuseTheirAddressAndNoOther() {
        var keys = WrongKeys()
        for number in 0..<10 {
            #expect(wait(keys, "10.0.0.1", 0) == nil)
            keys.add(KeyTrial.digest(number), from: "10.0.0.1", now: 0)
        }
        #expect(wait(keys, "10.0.0.1", 0) == 30)
        #expect(wait(keys, "10.0.0.2", 0) == nil)
    }

    @Test func staleKeyOfManyRequestsCountsOnce() {
        var keys = WrongKeys()
        for round in 0..<1_500 {
            for number in 0..<9 { keys.add(KeyTrial.digest(number), from: "a", now: UInt64(round)) }
        }
        #expect(wait(keys, "a", 1_500) == nil)
        keys.add(KeyTrial.digest(9), from: "a", now: 1_500)
        #expect(wait(keys, "a", 1_500) == 30)
    }

    @Test func addressIsAdmittedAMinuteAfterTheOldestOfTheTen() {
        var keys = WrongKeys()
        for number in 0..<10 { keys.add(KeyTrial.digest(number), from: "a", now: UInt64(number) * KeyTrial.second) }
        #expect(wait(keys, "a", 45 * KeyTrial.second) == 15)
        #expect(wait(keys, "a", Self.minute - 1) == 1)
        #expect(wait(keys, "a", Self.minute) == nil)
        // The other nine still count.
        keys.add(KeyTrial.digest(10), from: "a", now: Self.minute)
        #expect(wait(keys, "a", Self.minute) == 1)
        #expect(wait(keys, "a", 3 * Self.minute) == nil)
    }

    @Test func keyThatIsTriedAgainCountsFromItsLastAttempt() {
        var keys = WrongKeys()
        for number in 0..<9 { keys.add(KeyTrial.digest(number), from: "a", now: 0) }
        for number in 0..<9 { keys.add(KeyTrial.digest(number), from: "a", now: 50 * KeyTrial.second) }
        keys.add(KeyTrial.digest(9), from: "a", now: 70 * KeyTrial.second)
        #expect(wait(keys, "a", 70 * KeyTrial.second) == 30)
    }

    @Test func memoryIsBoundedAndForgottenAddressesMakeRoom() {
        var keys = WrongKeys()
        for number in 0..<3 * WrongKeys.maximumAddresses {
            keys.add(KeyTrial.digest(number), from: "address-\(number)", now: UInt64(number))
        }
        #expect(keys.count == WrongKeys.maximumAddresses)
        // One that is known is still counted.
        for number in 1...10 { keys.add(KeyTrial.digest(number), from: "address-0", now: KeyTrial.second) }
        #expect(wait(keys, "address-0", KeyTrial.second) == 30)
        let later = 2 * Self.minute
        for number in 0..<10 { keys.add(KeyTrial.digest(number), from: "new", now: later) }
        #expect(wait(keys, "new", later) == 30)
        #expect(keys.count == 1)
    }

    @Test func clientWithANetworkOf64BitsIsOneAddress() {
        var keys = WrongKeys()
        for number in 0..<10 { keys.add(KeyTrial.digest(number), from: "2001:db8:1:2::\(number)", now: 0) }
        #expect(keys.count == 1 && wait(keys, "2001:db8:1:2:ffff::", 0) == 30)
        #expect(wait(keys, "2001:db8:1:3::", 0) == nil)
        for number in 0..<10 { keys.add(KeyTrial.digest(number), from: "::ffff:192.0.2.1", now: 0) }
        #expect(wait(keys, "192.0.2.1", 0) == 30 && wait(keys, "192.0.2.2", 0) == nil)
    }

    @Test func longAddressIsCut() {
        var keys = WrongKeys()
        let start = String(repeating: "x", count: 64)
        for number in 0..<10 { keys.add(KeyTrial.digest(number), from: "\(start)\(number)", now: 0) }
        #expect(keys.count == 1 && wait(keys, start, 0) == 30)
    }
}
