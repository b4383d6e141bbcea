import Testing

@testable import FCMSimulator

@Suite struct MailroomTests {
    private static func message(expiresMs: Int64) -> StoredMessage {
        let letter = Letter(token: "t", messageID: "m", senderID: "1", source: .legacy([]), acceptedMs: 0)
        var options = DeliveryOptions()
        options.lifetime = .span(expiresMs)
        return StoredMessage(letter, options: options, package: nil)
    }

    @Test(arguments: UInt64(1)...10)
    func `mailboxes come due in the order of time, whatever happens to them before`(seed: UInt64) {
        var random = RandomStream(seed: seed)
        var room = Mailroom()
        var due: [String: Int64] = [:]
        for _ in 0..<3_000 {
            let instance = "t\(random.next() % 200)"
            var box = room.take(instance) ?? Mailbox()
            if random.next() % 3 == 0 {
                _ = box.removeAll()
                due[instance] = nil
                room.put(instance, box, dueMs: nil)
            } else {
                let time = Int64(random.next() % 10_000)
                _ = box.add(Self.message(expiresMs: time), isAndroid: false, random: &random)
                due[instance] = time
                room.put(instance, box, dueMs: time)
            }
        }
        #expect(room.agendaCount <= 2 * 200 + 65)
        var times: [Int64] = []
        while let next = room.nextDue(nowMs: 8_000) {
            #expect(due.removeValue(forKey: next.instance) == next.dueMs)
            times.append(next.dueMs)
        }
        #expect(times == times.sorted())
        #expect(due.values.allSatisfy { $0 > 8_000 })
    }

    @Test func `what is counted in is counted out`() {
        var random = RandomStream(seed: 1)
        var room = Mailroom()
        for index in 0..<100 {
            var box = Mailbox()
            for _ in 0...index { _ = box.add(Self.message(expiresMs: 5), isAndroid: true, random: &random) }
            room.put("t\(index)", box, dueMs: 5)
        }
        #expect(room.messageCount == 5_050)
        while let (instance, dueMs) = room.nextDue(nowMs: 5) {
            var box = room.take(instance)
            #expect(box?.expire(nowMs: dueMs) ?? 0 > 0)
            if let box { room.put(instance, box, dueMs: nil) }
        }
        #expect(room.messageCount == 0)
        #expect(room == Mailroom() || room.boxCount == 0)
    }

    @Test func `a full mailroom takes no more`() {
        var room = Mailroom()
        var random = RandomStream(seed: 1)
        var message = Self.message(expiresMs: 5)
        message.letter.source = .legacy(Array(repeating: 0, count: 4_096))
        var count = 0
        while room.hasRoom(for: message), count < 1_000_000 {
            var box = Mailbox()
            _ = box.add(message, isAndroid: true, random: &random)
            room.put("t\(count)", box, dueMs: 5)
            count += 1
        }
        #expect(count > 50_000)
        #expect(count * (4_096 + 512) <= Mailroom.mostBytes)
    }
}
